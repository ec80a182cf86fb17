import { h } from "./dom";

const DIGITS = 12;

export type CsvValue = string | number | boolean | null | undefined;

export interface CsvColumn {
  name: string;
  values: ArrayLike<CsvValue>;
}

/**
 * RFC 4180: quotes doubled, fields with separators quoted, lines ended by CRLF. NaN and what is
 * missing are empty. A text that a spreadsheet would take for a formula has an apostrophe in front.
 */
export function toCsv(columns: CsvColumn[]): string {
  const rows = columns.reduce((most, column) => Math.max(most, column.values.length), 0);
  const lines = [columns.map((column) => field(column.name)).join(",")];
  for (let row = 0; row < rows; ++row) {
    lines.push(columns.map((column) => field(column.values[row])).join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

/** Without the last digits, which are rounding errors of sums: 0.3, not 0.30000000000000004. */
const plain = (value: number): string => String(Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)));

function field(value: CsvValue): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const text = typeof value === "number" ? plain(value) : String(value).replace(/^(?=[=+\-@\t\r])/, "'");
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** Hands a text to the browser as a file to save; works for pages opened from disk. */
export function download(fileName: string, text: string, type = "text/csv"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: fileName });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A button that saves columns as CSV; they are asked for when it is pressed. */
export function csvButton(fileName: string, columns: () => CsvColumn[]): HTMLButtonElement {
  const save = () => download(fileName, toCsv(columns()));
  return h("button", { type: "button", class: "csv", title: `Save ${fileName}`, onclick: save }, "CSV");
}
