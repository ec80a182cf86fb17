export type Child = Node | string | number | null | undefined | false;

type Attribute = string | number | boolean | null | undefined | ((event: Event) => void);

/**
 * An element with attributes and children. Strings become text nodes, never markup, so that
 * whatever an archive contains stays text. An attribute `on<event>` is a listener; `true` and
 * `false` set and omit an attribute.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  append(element, children);
  return element;
}

export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

function setAttribute(element: Element, name: string, value: Attribute): void {
  if (typeof value === "function") {
    element.addEventListener(name.replace(/^on/, ""), value);
  } else if (value === true) {
    element.setAttribute(name, "");
  } else if (value !== false && value !== null && value !== undefined) {
    element.setAttribute(name, String(value));
  }
}
