"use strict";

// Every text of a document is put into the page as text, never as markup.

const form = document.getElementById("ask");
const status = document.getElementById("status");
const list = document.getElementById("results");
const pages = document.getElementById("pages");
const pageCosts = document.getElementById("page-costs");
const TIERS = ["blockquote", "metadata", "summary", "body"];
let toolPrefix = "oddkit_";
let offset = 0;
let asked = 0;

function parameters() {
  const given = {};
  for (const [name, value] of new FormData(form)) {
    const text = String(value).trim();
    if (!text) continue;
    if (name === "disclosure" || name === "include") (given[name] ||= []).push(text);
    else given[name] = text;
  }
  if (offset) given.offset = String(offset);
  return given;
}

function actionOf(given) {
  if (given.query) return "search";
  delete given.query;
  delete given.result_grouping;
  return "catalog";
}

function queryString(given) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    pairs.set(name, Array.isArray(value) ? value.join(",") : value);
  }
  return pairs.toString();
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function showRequest(action, given) {
  const address = new URL(`v1/${action}`, location.href).href;
  const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const query = queryString(given);
  document.getElementById("curl").textContent = `curl ${shell(query ? `${address}?${query}` : address)}`;
  const numeric = ["limit", "offset", "max_tokens"];
  const sent = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, numeric.includes(name) ? Number(value) : value]),
  );
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `${toolPrefix}${action}`, arguments: sent } };
  document.getElementById("mcp").textContent = JSON.stringify(call, null, 2);
}

function readAddress(uri, given) {
  const pairs = { uri };
  if (given.knowledge_base_url) pairs.knowledge_base_url = given.knowledge_base_url;
  return `read?${queryString(pairs)}`;
}

function entry(found, given, costs) {
  const item = element("li");
  const heading = element("h3");
  const link = element("a", found.title);
  link.href = readAddress(found.uri, given);
  heading.append(link);
  item.append(heading);
  const line = element("p", found.uri, "uri");
  if (found.source) {
    line.append(" ", element("span", found.source, `source ${found.source}`));
  }
  item.append(line);
  if (found.snippet) item.append(element("p", found.snippet));
  if (found.score !== undefined) item.append(element("p", `score ${found.score}`, "quiet"));
  if ("blockquote" in found) item.append(element("blockquote", found.blockquote ?? "no blockquote"));
  if ("summary" in found) item.append(element("p", found.summary ?? "no summary"));
  if ("metadata" in found) item.append(element("pre", JSON.stringify(found.metadata, null, 2)));
  const cost = costs[found.uri];
  if (cost) {
    const tiers = TIERS.map((tier) => `${tier} ${cost[tier]}`);
    item.append(element("p", `Tokens: URI and title ${cost.floor} · ${tiers.join(" · ")}`, "costs"));
  }
  return item;
}

function showPageCosts(costs) {
  const rows = Object.values(costs);
  const sum = (tier) => rows.reduce((total, cost) => total + cost[tier], 0);
  const tiers = TIERS.slice(0, 3).map((tier) => `with ${tier} ${sum(tier)} more`);
  pageCosts.textContent = `Tokens of this page: URIs and titles ${sum("floor")} · ${tiers.join(" · ")}`;
  pageCosts.hidden = rows.length === 0;
}

function preview() {
  const given = parameters();
  showRequest(actionOf(given), given);
}

function clear() {
  list.replaceChildren();
  pages.hidden = true;
  pageCosts.hidden = true;
}

async function fetchJson(path) {
  const response = await fetch(path, { headers: { accept: "application/json" } });
  return response.json();
}

async function costsOf(data, given) {
  if (!data.length) return {};
  const pairs = new URLSearchParams(data.slice(0, 100).map((found) => ["uri", found.uri]));
  if (given.knowledge_base_url) pairs.set("knowledge_base_url", given.knowledge_base_url);
  const answer = await fetchJson(`costs?${pairs}`);
  return answer.costs ?? {};
}

function tell(text, isError) {
  status.textContent = text;
  status.className = isError ? "error" : "";
}

async function ask() {
  const number = ++asked;
  const given = parameters();
  const action = actionOf(given);
  showRequest(action, given);
  tell("Asking…", false);
  try {
    const envelope = await fetchJson(`v1/${action}?${queryString(given)}`);
    if (number !== asked) return;
    clear();
    if (envelope.status === "ERROR") {
      tell(`${envelope.error_code}: ${envelope.error_message}`, true);
      return;
    }
    const costs = await costsOf(envelope.data, given);
    if (number !== asked) return;
    list.start = envelope.offset + 1;
    list.append(...envelope.data.map((found) => entry(found, given, costs)));
    showPageCosts(costs);
    const last = envelope.offset + envelope.data.length;
    const parts = [envelope.data.length ? `${envelope.offset + 1}–${last} of ${envelope.total}` : "No document here."];
    if (envelope.match) parts.push(`match ${envelope.match.signal}`);
    if (envelope.match?.overlay_signal) parts.push(`overlay ${envelope.match.overlay_signal}`);
    if (envelope.filtered_out) parts.push(`${envelope.filtered_out} more in kinds or slices left out`);
    if (envelope.stale) parts.push("from an older index");
    tell(parts.join(" · "), false);
    pages.hidden = envelope.total <= envelope.data.length;
    document.getElementById("previous").disabled = envelope.offset === 0;
    document.getElementById("next").disabled = last >= envelope.total;
  } catch (error) {
    if (number !== asked) return;
    clear();
    tell(`The service did not answer (${error.message}). Try again.`, true);
  }
}

function turn(direction) {
  const limit = Number(new FormData(form).get("limit")) || 25;
  offset = Math.max(0, offset + direction * limit);
  ask().then(() => list.focus());
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  offset = 0;
  ask();
});
form.addEventListener("input", () => {
  offset = 0;
  pages.hidden = true; // they are of the earlier question
  preview();
});
document.getElementById("previous").addEventListener("click", () => turn(-1));
document.getElementById("next").addEventListener("click", () => turn(1));

preview();
fetchJson("health").then((health) => {
  toolPrefix = health.tool_prefix ?? toolPrefix;
  preview();
  for (const name of health.knowledge_bases ?? []) {
    const option = document.createElement("option");
    option.value = name;
    document.getElementById("knowledge-bases").append(option);
  }
}).catch(() => tell("The service does not answer yet. Try again in a moment.", true));
