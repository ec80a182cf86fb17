// Studies have hundreds of panels, one for each setting. Panels of one design are collapsed to a line
// with their common settings, and are named by their differences.
import { h, replace, type Child } from "@/shared/dom";
import { onThemeChange } from "@/shared/theme";

import type { Panel, Report } from "./data";
import { badge } from "./elements";
import type { Store } from "./state";

/** More panels than this are folded. */
export const MANY_PANELS = 12;

/** Panels that sweep the same axes, with figures of one kind. */
export interface Design {
  kind: string;
  panels: Panel[];
  /** "engine.block_size=16, workload.kind=zipf": settings that all of them have. */
  shared: string;
  /** "model, workload.n": the keys in which they differ, besides the card. */
  varied: string;
}

const NOT_OF_PANELS = new Set(["gpu", "policy", "jps", "dram_gib"]);

/** The keys that a sweep varies, from a label: "gpu=h100-80gb model=opt-13b policy=swap". */
function axesOf({ groups }: Panel): string {
  const label = groups[0]?.label ?? "";
  const keys = label.split(" ").flatMap((word) => /^([\w.]+)=/.exec(word)?.[1] ?? []);
  return keys.filter((key) => !NOT_OF_PANELS.has(key)).join(" ");
}

const settingsOf = ({ settings }: Panel): string[] =>
  settings === "" ? [] : settings.split(/, (?=[\w.]+=)/);

export function designsOf(panels: Panel[]): Design[] {
  const designs = new Map<string, Panel[]>();
  for (const panel of panels) {
    const key = JSON.stringify([panel.kind, axesOf(panel)]);
    designs.set(key, [...(designs.get(key) ?? []), panel]);
  }
  return [...designs.values()].map((own) => {
    const all = own.map((panel) => new Set(settingsOf(panel)));
    const shared = settingsOf(own[0] as Panel).filter((each) => all.every((set) => set.has(each)));
    const differing = own.flatMap(settingsOf).filter((each) => !shared.includes(each));
    const varied = new Set(differing.map((each) => each.slice(0, each.indexOf("="))));
    return {
      kind: (own[0] as Panel).kind, panels: own, shared: shared.join(", "),
      varied: [...varied].join(", "),
    };
  });
}

/** The panel with only the settings in which it differs from others of its design. */
export function shortened(panel: Panel, { shared }: Design): Panel {
  const left_out = new Set(settingsOf({ ...panel, settings: shared }));
  const settings = settingsOf(panel).filter((each) => !left_out.has(each)).join(", ");
  return { ...panel, settings };
}

/** A collapsible line. Its content is built when it is first opened, and follows the state. */
export function fold(store: Store, line: Child[], build: () => Child[]): HTMLElement {
  const box = h("div", {});
  const details = h("details", { class: "fold", ontoggle: () => fill() },
    h("summary", {}, ...line), box);
  const fill = () => {
    if (details.open) replace(box, ...build());
  };
  store.onChange(fill);
  onThemeChange(fill);
  return details;
}

/** A fold for each design for which `build` returns content. */
export function designFolds(
  store: Store, report: Report, what: string, count: (panels: Panel[]) => number,
  build: (design: Design) => Child[],
): HTMLElement[] {
  return designsOf(report.panels).flatMap((design) => {
    const number = count(design.panels);
    if (number === 0) return [];
    const { kind, shared, varied } = design;
    const gpus = [...new Set(design.panels.map(({ gpu }) => gpu))].join(", ");
    const by = varied === "" ? "" : ` by ${varied}`;
    const line = [`${number} ${what}${number === 1 ? "" : "s"}${by}: `, h("b", {}, gpus),
      h("span", { class: "small muted settings" }, ` ${shared} `), badge(kind)];
    return [fold(store, line, () => build(design))];
  });
}
