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

export function writePlace(place: Place): string {
  const fields = new URLSearchParams();
  if (place.step !== undefined) fields.set("step", String(place.step));
  if (place.time !== undefined) fields.set("t", short(place.time));
  if (place.from !== undefined) fields.set("from", short(place.from));
  if (place.to !== undefined) fields.set("to", short(place.to));
  if (place.job) fields.set("job", place.job);
  return `#${fields.toString()}`;
}

/** Whole microseconds. */
function short(seconds: number): string {
  return String(Math.round(seconds * 1e6) / 1e6);
}
