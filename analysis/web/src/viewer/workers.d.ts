/** A worker with its code in the page (Vite). */
declare module "*?worker&inline" {
  const InlineWorker: new () => Worker;
  export default InlineWorker;
}
