/** A number with so many significant digits, thousands separated; "–" for what was not observed. */
export function num(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
  return value.toLocaleString("en-US", { maximumSignificantDigits: digits });
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return "–";
  let unit = 0;
  for (; Math.abs(value) >= 1024 && unit + 1 < BYTE_UNITS.length; ++unit) value /= 1024;
  return `${num(value, 3)} ${BYTE_UNITS[unit] ?? ""}`;
}

/** A duration in the unit that suits it. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${num(value * 1e6, 3)} µs`;
  if (size < 1) return `${num(value * 1e3, 3)} ms`;
  return `${num(value, 4)} s`;
}
