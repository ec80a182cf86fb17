// Whether texts and lines of both themes can be read: contrast as WCAG 2.1 defines it (1.4.3: 4.5 for text, 1.4.11: 3 for graphics).
import { readFileSync } from "node:fs";

const css = readFileSync("src/shared/theme.css", "utf8");

function theme(selector: string): Record<string, string> {
  const from = css.indexOf(`${selector} {`);
  const block = css.slice(from, css.indexOf("}", from));
  return Object.fromEntries([...block.matchAll(/(--[\w-]+): (#[0-9a-f]{6})/g)].map(([, name, color]) => [name, color]));
}

/** Relative luminance of sRGB, https://www.w3.org/TR/WCAG21/#dfn-relative-luminance */
function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function mixed(color: string, background: string, share: number): string {
  const part = (of: string, at: number) => parseInt(of.slice(at, at + 2), 16);
  const parts = [1, 3, 5].map((at) => Math.round(part(color, at) * share + part(background, at) * (1 - share)));
  return `#${parts.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

const series = Array.from({ length: 8 }, (_, i) => `--series-${i + 1}`);

describe.each([["light", ":root"], ["dark", ':root[data-theme="dark"]']])("the %s theme", (_, selector) => {
  const colors = theme(selector);
  const color = (name: string) => colors[name] ?? "";

  it("has every colour", () => expect(Object.keys(colors).sort()).toEqual(Object.keys(theme(":root")).sort()));

  it.each(["--text", "--muted", "--accent", "--warn", "--good"])("%s can be read as text", (name) => {
    for (const behind of ["--card", "--page"]) expect(contrast(color(name), color(behind))).toBeGreaterThan(4.5);
  });

  it.each(["--edge", ...series])("%s can be seen in a chart", (name) => {
    expect(contrast(color(name), color("--card"))).toBeGreaterThan(3);
  });

  it.each(series)("text can be read on the strongest tint of %s in the regime map", (name) => {
    expect(contrast(color("--text"), mixed(color(name), color("--card"), 0.34))).toBeGreaterThan(4.5);
  });

  it("text of a pressed button can be read", () => expect(contrast(color("--accent-text"), color("--accent"))).toBeGreaterThan(4.5));
});
