import { ALL, type Panel, type Report } from "./data";

/** What the reader has chosen. Everything else follows from it and the data. */
export interface State {
  panel: number;
  rate: string;
  metric: string;
  hidden: Set<string>;
  x: "total" | "largest";
  focus: string;
  repeat: number;
}

type Listener = () => void;

/** The state, who wants to know of changes, and its form in the address: a link shows what its sender saw. */
export class Store {
  readonly state: State;
  private readonly listeners: Listener[] = [];

  constructor(
    readonly report: Report,
    address: string,
  ) {
    this.state = stateOf(report, address);
  }

  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(change: Partial<State>): void {
    Object.assign(this.state, change);
    repair(this.report, this.state);
    for (const listener of this.listeners) listener();
  }

  toggle(variant: string): void {
    const hidden = new Set(this.state.hidden);
    if (!hidden.delete(variant)) hidden.add(variant);
    this.set({ hidden });
  }

  get panel(): Panel {
    return this.report.panels[this.state.panel] as Panel;
  }

  get visible(): string[] {
    return this.panel.variants.filter((variant) => !this.state.hidden.has(variant));
  }

  /** Time lines are those of one cell: where all rates are shown together, of the highest. */
  get cellRate(): string {
    const { rate } = this.state;
    return rate === ALL ? (this.panel.rates[this.panel.rates.length - 1] ?? "") : rate;
  }

  /** Every variant of the report, for colours that mean the same everywhere. */
  get variants(): string[] {
    return [...new Set(this.report.panels.flatMap((panel) => panel.variants))];
  }

  address(): string {
    const { panel, rate, metric, hidden, x, focus, repeat } = this.state;
    const words = new URLSearchParams({ panel: String(panel), rate, metric, x, focus, repeat: String(repeat) });
    for (const variant of hidden) words.append("hide", variant);
    return `#${words.toString()}`;
  }
}

function stateOf(report: Report, address: string): State {
  const words = new URLSearchParams(address.replace(/^#/, ""));
  const state: State = {
    panel: Number(words.get("panel") ?? 0),
    rate: words.get("rate") ?? ALL,
    metric: words.get("metric") ?? "jct_wall_mean_s",
    hidden: new Set(words.getAll("hide")),
    x: words.get("x") === "total" ? "total" : "largest",
    focus: words.get("focus") ?? "",
    repeat: Number(words.get("repeat") ?? 0),
  };
  repair(report, state);
  return state;
}

/** Whatever the address or a change of the panel left without meaning gets its first value. */
function repair(report: Report, state: State): void {
  if (!report.panels[state.panel]) state.panel = 0;
  const panel = report.panels[state.panel];
  if (!panel) return;
  if (state.rate !== ALL && !panel.rates.includes(state.rate)) state.rate = ALL;
  if (!panel.variants.includes(state.focus)) state.focus = panel.variants[1] ?? panel.variants[0] ?? "";
  if (!panel.groups.some((group) => group.repeats > state.repeat)) state.repeat = 0;
  if (!panel.groups.some((group) => state.metric in group.figures)) state.metric = "jct_wall_mean_s";
}
