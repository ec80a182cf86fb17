import { ALL, dramSizes, type Panel, type Report } from "./data";

const METRIC = "jct_wall_mean_s";

/** What the reader chooses, and what is shown without a choice. */
const USUAL = {
  panel: 0, rate: "", metric: METRIC, focus: "",
  x: "largest", // tokens: of the step ("total"), or of its largest request
  turns: "each", // duration: of each turn, or of all up to it ("sum")
  all_claims: false, // also those that cannot be judged here
};

/** Everything else follows from it and the data. */
export type State = typeof USUAL & { hidden: Set<string> };

type Listener = () => void;

/**
 * The state, the listeners for changes, and its form in the address: a link shows the page as its
 * sender saw it.
 */
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

  /** Takes the state from an address, for example when the reader edits it. */
  goTo(address: string): void {
    this.set(stateOf(this.report, address));
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

  /** The rate of what has one alone; if all are shown together, the highest. */
  get cellRate(): string {
    const { rate } = this.state;
    return rate === ALL ? (this.panel.rates[this.panel.rates.length - 1] ?? "") : rate;
  }

  /** Every variant of the report, for colors that mean the same everywhere. */
  get variants(): string[] {
    return [...new Set(this.report.panels.flatMap((panel) => panel.variants))];
  }

  address(): string {
    const { hidden, all_claims, ...plain } = this.state;
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(plain)) if (value !== "") words.set(name, String(value));
    if (all_claims) words.set("all_claims", "1");
    for (const variant of hidden) words.append("hide", variant);
    return `#${words.toString()}`;
  }
}

function stateOf(report: Report, address: string): State {
  const words = new URLSearchParams(address.replace(/^#/, ""));
  const read = (name: string, usual: string | number | boolean) => {
    const word = words.get(name);
    if (word === null) return usual;
    return typeof usual === "number" ? Number(word) : typeof usual === "boolean" ? true : word;
  };
  const plain = Object.fromEntries(Object.entries(USUAL).map(([name, usual]) => [name, read(name, usual)])) as typeof USUAL;
  const state: State = { ...plain, hidden: new Set(words.getAll("hide")) };
  repair(report, state);
  return state;
}

const middleOf = (rates: string[]): string => rates[Math.floor(rates.length / 2)] ?? "";

/** Resets every value that the address or a change of the panel made invalid to its first choice. */
function repair(report: Report, state: State): void {
  if (!report.panels[state.panel]) state.panel = 0;
  const panel = report.panels[state.panel];
  if (!panel) return;
  // Rates are pooled only if the reader asks for it.
  if (state.rate !== ALL && !panel.rates.includes(state.rate)) state.rate = middleOf(panel.rates);
  if (!panel.variants.includes(state.focus)) state.focus = mostTelling(panel);
  if (!panel.groups.some((group) => state.metric in group.figures)) state.metric = METRIC;
  if (state.x !== "total") state.x = USUAL.x;
  if (state.turns !== "sum") state.turns = USUAL.turns;
}

/**
 * The policy with the most informative details: the one with the largest host tier, since only those move KV.
 */
function mostTelling(panel: Panel): string {
  const largest = dramSizes(panel).pop();
  const tiered = panel.groups.find((group) => group.dram === largest)?.variant;
  return tiered ?? panel.variants[1] ?? panel.variants[0] ?? "";
}
