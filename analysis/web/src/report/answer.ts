// The answer in sentences, and what a reader must know before believing it.
import { h } from "@/shared/dom";

import { questionsOf, type Report } from "./data";
import { section } from "./elements";
import { MANY_PANELS } from "./folds";

/** "30 of 32 cells have a result; missing: ...", "one seed: no intervals". */
function cautions({ coverage, lacks, regimes }: Report): string[] {
  const fewest = Math.min(...regimes.map(({ repeats }) => repeats));
  return [
    lacks && `${coverage}.`,
    fewest < 3 && `Some winners rest on ${fewest} ${fewest === 1 ? "seed" : "seeds"}: ` +
      "there are intervals from three on.",
  ].filter((each) => each !== false);
}

const QUESTIONS_SHOWN = 2;

/** The first of many things, and a line that opens the rest. */
function firstOf(shown: number, what: string, all: HTMLElement[]): HTMLElement[] {
  if (all.length <= shown + 1) return all;
  return [...all.slice(0, shown), h("details", { class: "fold" },
    h("summary", {}, `${all.length - shown} more ${what}`), ...all.slice(shown))];
}

/** The sentences about each place begin with its name. */
function byPlace({ answer }: Report): HTMLElement[] {
  const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
  return [...new Set(answer.map((each) => each.place))].map((place) => {
    const sentences = answer.filter((each) => each.place === place).map(({ says }) => `${capital(says)}.`).join(" ");
    return h("div", { class: "said" }, h("p", {}, h("b", {}, `${place}: `), sentences));
  });
}

export function answerSection(report: Report): HTMLElement {
  const { answer, archives } = report;
  const asked = firstOf(QUESTIONS_SHOWN, "questions",
    questionsOf(archives).map((each) => h("p", { class: "question" }, each)));
  const answers = answer.length === 0
    ? [h("p", { class: "muted" }, "No two policies ran at the same GPU, rate and setting.")]
    : [
      h("p", { class: "small muted" }, report.answer_heading,
        !report.lacks && `; ${report.coverage}`),
      ...firstOf(MANY_PANELS, "settings", byPlace(report)),
    ];
  return section("answer", "Answer", ...asked, ...answers);
}

/** What a reader must know before believing the answer; null if there is nothing. */
export function warningsSection(report: Report): HTMLElement | null {
  if (report.answer.length === 0) return null;
  const notes = cautions(report).map((each) => h("p", { class: "small warn" }, each));
  return notes.length === 0 ? null : section("warnings", "Before you believe it", ...notes);
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
