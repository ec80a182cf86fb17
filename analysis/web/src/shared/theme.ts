import { h } from "./dom";

export type Theme = "light" | "dark";

const KEY = "kvsweep-theme";
const listeners: ((theme: Theme) => void)[] = [];
let chosen: Theme | null = null;
const dark = () => window.matchMedia("(prefers-color-scheme: dark)");

/** What the reader chose with the toggle, otherwise what the system prefers. */
export function currentTheme(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

export function onThemeChange(listener: (theme: Theme) => void): void {
  listeners.push(listener);
}

/** The value of a CSS variable of the theme, e.g. "--text". */
export function cssVar(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The family of the page's text, for canvases: they inherit none. */
export function pageFont(): string {
  return getComputedStyle(document.body).fontFamily;
}

/**
 * Colors that stay apart in both themes and for the color-blind (Okabe and Ito's, tuned for
 * contrast).
 */
export function palette(): string[] {
  return Array.from({ length: 8 }, (_, i) => cssVar(`--series-${i + 1}`));
}

function choose(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Pages opened from disk may have no storage; the choice then lasts as long as the page.
  }
  chosen = theme;
  apply();
}

/** The choice, or what the system prefers, in the attribute that theme.css follows. */
function apply(): void {
  show(chosen ?? (dark().matches ? "dark" : "light"));
}

function show(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  for (const listener of listeners) listener(theme);
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Call once, before anything is drawn. */
export function startTheme(): void {
  const stored = remembered();
  chosen = stored === "light" || stored === "dark" ? stored : null;
  dark().addEventListener("change", apply);
  // Paper is light, whatever the screen shows.
  window.addEventListener("beforeprint", () => show("light"));
  window.addEventListener("afterprint", apply);
  apply();
}

export function themeToggle(): HTMLButtonElement {
  const label = () => (currentTheme() === "dark" ? "Light" : "Dark");
  const button = h("button", { type: "button", class: "theme-toggle", "aria-label": "Switch between light and dark" });
  button.addEventListener("click", () => choose(currentTheme() === "dark" ? "light" : "dark"));
  button.textContent = label();
  onThemeChange(() => (button.textContent = label()));
  return button;
}
