const formats = new Map<number, Intl.NumberFormat>(); // making one takes a hundred times as long as using it

function formatOf(digits: number): Intl.NumberFormat {
  const known = formats.get(digits);
  if (known !== undefined) return known;
  const made = new Intl.NumberFormat("en-US", digits === 0 ? {} : { maximumSignificantDigits: digits });
  formats.set(digits, made);
  return made;
}

/** A number with `digits` significant digits and thousands separators; "–" if it was not observed. */
export function num(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return formatOf(0).format(value);
  return formatOf(digits).format(value);
}

/** Like num(), but keeps trailing zeros, so that a column of numbers lines up. */
export function even(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const rounded = Number(value.toPrecision(digits));
  const decimals = rounded === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  return rounded.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
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
