import { escapeHtml, html } from "@/shared/escape";

describe("text in HTML", () => {
  it("cannot open a tag, end an attribute or start an entity", () => {
    expect(escapeHtml(`<img src=x onerror="a('&lt;')">`)).toBe(
      "&#60;img src=x onerror=&#34;a(&#39;&#38;lt;&#39;)&#34;&#62;",
    );
  });

  it("is escaped where a template takes a value, and only there", () => {
    expect(html`<b>${"<i>"}</b> ${1 < 2}`).toBe("<b>&#60;i&#62;</b> true");
  });
});
