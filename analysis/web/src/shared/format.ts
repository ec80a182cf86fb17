const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/**
 * A number with `digits` significant digits, or all before its point, and thousands separators; "–" if it was not
 * observed. The exact value is rounded once, away from zero between two numbers, as in the program's tables.
 */
export function even(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const rounded = Math.abs(Number(value.toPrecision(digits)));
  if (rounded !== 0 && (rounded < 1e-4 || rounded >= 1e15)) return value.toExponential(digits - 1);
  const decimals = rounded === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(rounded)));
  const [whole = "", fraction] = Math.abs(value).toFixed(decimals).split(".");
  return (value < 0 ? "-" : "") + grouped(whole) + (fraction ? `.${fraction}` : "");
}

/** Like even(), without trailing zeros behind the point. */
export function num(value: number | null | undefined, digits = 4): string {
  return even(value, digits).replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
}

/** A fraction as per cent with one decimal, two below 0.1 %. */
export function percent(fraction: number | null | undefined): string {
  if (fraction === null || fraction === undefined || Number.isNaN(fraction)) return "–";
  const value = fraction * 100, digits = Math.abs(value) < 0.1 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)} %`;
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
