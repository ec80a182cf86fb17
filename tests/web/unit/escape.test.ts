import { escapeHtml, html } from "@/shared/escape";

describe("text in HTML", () => {
  it("cannot open a tag, end an attribute or start an entity", () => {
    expect(escapeHtml(`<img src=x onerror="a('&lt;')">`)).toBe(
      "&lt;img src=x onerror=&quot;a(&#39;&amp;lt;&#39;)&quot;&gt;",
    );
  });

  it("is escaped where a template takes a value, and only there", () => {
    expect(html`<b>${"<i>"}</b> ${1 < 2}`).toBe("<b>&lt;i&gt;</b> true");
  });
});
