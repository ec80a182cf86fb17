/** Text escaped for HTML content and quoted attributes. */
export function escapeHtml(text: unknown): string {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * A template that escapes its values: html`<b>${name}</b>`. For tooltips, which chart libraries
 * want as HTML.
 */
export function html(parts: TemplateStringsArray, ...values: unknown[]): string {
  return parts.reduce((text, part, i) => text + escapeHtml(values[i - 1]) + part);
}
