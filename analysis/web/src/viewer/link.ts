/** A position in a trace, as in a link (the part of the address after #). */
export interface Place {
  time?: number; // seconds
  step?: number; // the number of a step of the first cell; wins over time
  job?: string; // its id
  from?: number; // the window shown, seconds
  to?: number;
}

export function readPlace(hash: string): Place {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const place: Place = {};
  for (const [name, key] of [["t", "time"], ["step", "step"], ["from", "from"], ["to", "to"]] as const) {
    const text = fields.get(name);
    const value = text === null || text.trim() === "" ? NaN : Number(text);
    if (Number.isFinite(value)) place[key] = value;
  }
  const job = fields.get("job");
  if (job) place.job = job;
  return place;
}

export function writePlace({ step, time, from, to, job }: Place): string {
  const whole = (seconds: number | undefined) => seconds && Math.round(seconds * 1e6) / 1e6; // microseconds
  const fields = Object.entries({ step, t: whole(time), from: whole(from), to: whole(to), job: job || undefined });
  return `#${new URLSearchParams(fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])))}`;
}
