// The answer in sentences, and what a reader must know before believing it.
import { h } from "@/shared/dom";

import { questionsOf, type Report } from "./data";
import { section } from "./elements";

/** "30 of 32 cells have a result; missing: ...", "one seed: no intervals". */
function cautions({ coverage, missing, regimes }: Report): string[] {
  const fewest = Math.min(...regimes.map(({ repeats }) => repeats));
  return [
    missing.length > 0 && `${coverage}.`,
    fewest < 3 && `Some winners rest on ${fewest} ${fewest === 1 ? "seed" : "seeds"}: ` +
      "there are intervals from three on.",
  ].filter((each) => each !== false);
}

const IDLE_SHOWN = 6;

/** Mechanisms that did nothing: a sweep of many settings has hundreds, and the first are shown. */
function idleNotes(idle: string[]): HTMLElement[] {
  const note = (each: string) => h("p", { class: "small warn" }, `${each}.`);
  const more = idle.slice(IDLE_SHOWN);
  return [
    ...idle.slice(0, IDLE_SHOWN).map(note),
    ...(more.length > 0
      ? [h("details", { class: "fold" },
        h("summary", {}, `${more.length} more of what did nothing`), ...more.map(note))]
      : []),
  ];
}

export function answerSection(report: Report): HTMLElement {
  const { answer, declared, why, idle, commands, archives } = report;
  const asked = questionsOf(archives).map((each) => h("p", { class: "question" }, each));
  const answers = answer.length === 0
    ? [h("p", { class: "muted" }, "No two policies ran at the same GPU, rate and setting.")]
    : [
      h("p", { class: "small muted" }, report.answer_heading,
        report.missing.length === 0 && `; ${report.coverage}`),
      declared.length > 0 && h("p", { class: "small muted" },
        "Declared before the sweep ran (value / base, p adjusted over all of them by Holm's rule):"),
      declared.length > 0 && h("ul", { class: "answer" }, ...declared.map((each) => h("li", {}, each))),
      h("ul", { class: "answer" }, ...answer.map((each) => h("li", {}, each))),
      why.length > 0 && h("p", { class: "small muted" }, "Why:"),
      why.length > 0 && h("ul", { class: "answer small" }, ...why.map((each) => h("li", {}, each))),
      commands.length > 0 && h("p", { class: "small muted" },
        "What would tell the rest (run these, and give all archives to the report):"),
      ...commands.map((each) => h("pre", { class: "command" }, each)),
      ...cautions(report).map((each) => h("p", { class: "warn" }, each)),
      ...idleNotes(idle),
    ];
  return section("answer", "Answer", ...asked, ...answers);
}

/** Links to the sections of the page; its address holds the choices and stays as it is. */
export function contents(sections: HTMLElement[]): HTMLElement {
  const links = sections.flatMap((each) => {
    const title = each.querySelector("h2")?.textContent;
    if (each.id === "" || !title) return [];
    const link = h("a", { href: `#${each.id}` }, title);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      each.scrollIntoView();
    });
    return [link];
  });
  return h("nav", { class: "contents", "aria-label": "contents" }, ...links);
}
