/** A worker whose code is part of the page (Vite). */
declare module "*?worker&inline" {
  const InlineWorker: new () => Worker;
  export default InlineWorker;
}
