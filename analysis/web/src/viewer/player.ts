/** Moves a clock along while it plays: `speed` seconds of the trace a second. */
export class Player {
  private frame = 0;
  private before = 0;
  speed = 1;

  constructor(
    private readonly advance: (seconds: number) => boolean, // false: the end is reached
    private readonly changed: () => void,
  ) {}

  get playing(): boolean {
    return this.frame !== 0;
  }

  toggle(): void {
    if (this.playing) return this.stop();
    this.before = performance.now();
    const tick = (now: number) => {
      const passed = Math.min(0.25, (now - this.before) / 1000);
      this.before = now;
      if (this.advance(passed * this.speed)) this.frame = requestAnimationFrame(tick);
      else this.stop();
    };
    this.frame = requestAnimationFrame(tick);
    this.changed();
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.changed();
  }
}
