// Put into a copy of the page: uses it as a reader would, and leaves what it saw in an element of its own.
"use strict";
const seen = { failures: [] };
const must = (holds, what) => { if (!holds) seen.failures.push(what); };
const timed = (name, action) => {
  const start = performance.now();
  action();
  document.body.getBoundingClientRect();  // what it changed is laid out
  seen[name] = Math.round(performance.now() - start);
};
const all = selector => [...document.querySelectorAll(selector)];
const visible = () => all("section.request").filter(section => !section.hidden);
const choose = (id, value) => {
  const control = document.getElementById(id);
  control.value = value;
  control.dispatchEvent(new Event("input"));
};

seen.requests = all("section.request").length;
seen.loaded = Math.round(performance.now());

const broken = visible().find(section => section.querySelector(".finding.error") && section.querySelector(".segment.call"));
must(broken, "a request with an error");
const segment = broken.querySelector(".segment.call");
const panel = broken.querySelector(".detail");
must(segment.title.includes("volatile-time") && segment.title.includes("lost"), "hovering names the finding and what is lost");
must(panel.hidden, "the panel is closed at first");
timed("click", () => segment.click());
must(!panel.hidden && segment.getAttribute("aria-pressed") === "true", "a click opens the segment");
must(panel.querySelectorAll("ol li code").length >= 2, "its flow stands there step by step with code");
must(panel.textContent.includes("volatile-time") && panel.textContent.includes("lost"), "with the finding and what it costs");
segment.click();
must(panel.hidden, "a second click closes it");

const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const row = [...broken.querySelectorAll(".segment")];
row[0].focus();
press("ArrowRight");
must(document.activeElement === row[1], "the right arrow moves to the next segment");
press("End");
must(document.activeElement === row.at(-1), "End moves to the last one");
press("ArrowRight");
must(document.activeElement === row.at(-1), "and stays there");
press("Home");
must(document.activeElement === row[0], "Home moves to the first one");
must(row.filter(button => button.tabIndex === 0).length === 1, "one segment of a bar is reached with Tab");
must(row.every(button => button.tagName === "BUTTON" && button.getAttribute("aria-label")), "segments are buttons with names");
must(all("select, input").every(control => control.closest("label")), "controls have labels");

const providers = [...document.getElementById("provider").options].map(option => option.value).filter(Boolean);
seen.providers = providers;
timed("filter", () => choose("provider", providers[0]));
const ofOne = visible().length;
must(ofOne > 0 && ofOne < seen.requests, "filtering by provider");
choose("provider", "");
choose("severity", "error");
must(visible().length > 0 && visible().every(section => section.querySelector(".finding.error")), "filtering by severity");
choose("severity", "");
timed("search", () => choose("text", "app_007.py"));
must(visible().length === 1, "filtering by file");
must(document.getElementById("count").textContent.startsWith("1 of "), "the number shown is announced");
choose("text", "");
must(visible().length === seen.requests, "without a filter all are there again");

const background = () => getComputedStyle(document.body).backgroundColor;
const before = background();
document.getElementById("theme").click();
must(background() !== before, "light and dark");
document.getElementById("theme").click();
must(background() === before, "and back");
seen.outside = performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("data:"));
must(seen.outside.length === 0, "nothing is loaded from elsewhere");
document.body.append(Object.assign(document.createElement("pre"), { id: "seen", textContent: JSON.stringify(seen) }));
