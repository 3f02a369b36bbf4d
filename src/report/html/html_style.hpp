#pragma once

namespace report {

/// Style of the HTML report. Loads nothing from elsewhere; light and dark follow the system; when printed,
/// the table fits and nothing is folded.
inline constexpr const char* html_style = R"(
:root { --paper: #fff; --ink: #1c2330; --dim: #5b6472; --line: #d8dde5; --card: #f6f7f9; --link: #1f5fa8;
  --blocker: #b3261e; --warning: #8a5a00; --note: #1f5fa8; --unknown: #5b6472; --pass: #1d6b3a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e6e9ee; --dim: #9aa4b2; --line: #2f3641;
  --card: #1b2027; --link: #82b4f5; --blocker: #ff8a80; --warning: #f0b94b; --note: #82b4f5; --unknown: #9aa4b2;
  --pass: #6fcf97; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; overflow-wrap: anywhere; } h2 { margin: 2rem 0 .5rem; font-size: 1.2rem;
  overflow-wrap: anywhere; } h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
p.when, p.legend { margin: .2rem 0 1rem; color: var(--dim); } p.legend { font-size: .85rem; margin-top: .5rem; }
p.short { margin: 0 0 1rem; font-size: 1.1rem; } a { color: var(--link); }
ul.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.6rem, 1fr)); gap: .6rem; margin: 0;
  padding: 0; list-style: none; }
ul.tiles li { padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card);
  color: var(--dim); }
ul.tiles b { display: block; color: var(--ink); font-size: 1.5rem; line-height: 1.2; }
ul.tiles .blocker b, article.blocker h3 span, td.blocker { color: var(--blocker); }
ul.tiles .warning b, article.warning h3 span, td.warning { color: var(--warning); }
ul.tiles .note b, article.note h3 span, td.note { color: var(--note); }
ul.tiles .unknown b, article.unknown h3 span, td.unknown { color: var(--unknown); }
ul.tiles .pass b, td.pass { color: var(--pass); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: center; white-space: nowrap; }
th:first-child { position: sticky; left: 0; background: var(--paper); text-align: left; }
thead th { color: var(--dim); font-size: .85rem; font-weight: 600; } td { font-weight: 600; }
td.none { color: var(--dim); font-weight: 400; }
article { margin: .7rem 0; padding: .7rem 1rem; border: 1px solid var(--line); border-left: 4px solid var(--unknown);
  border-radius: .4rem; background: var(--card); }
article.blocker { border-left-color: var(--blocker); } article.warning { border-left-color: var(--warning); }
article.note { border-left-color: var(--note); }
article h3 span { margin-right: .5rem; font-size: .8rem; text-transform: uppercase; letter-spacing: .04em; }
code { color: var(--dim); font: .85rem ui-monospace, monospace; overflow-wrap: anywhere; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--dim); } details ul { margin: .2rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem .8rem; margin: .4rem 0 0; }
dt { color: var(--dim); } dd { margin: 0; min-width: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
dd.seen { font: .9rem/1.5 ui-monospace, monospace; }
@media (max-width: 40rem) { body { padding: 1rem; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .3rem; } }
@media print { :root { --paper: #fff; --ink: #000; --dim: #444; --line: #bbb; --card: #fff; --link: #000;
    --blocker: #b3261e; --warning: #8a5a00; --note: #1f5fa8; --unknown: #444; --pass: #1d6b3a; }
  body { max-width: none; padding: 0; font-size: 10pt; } .scroll { overflow: visible; } table { font-size: 8pt; }
  th, td { padding: .15rem .25rem; } th:first-child { position: static; } article { break-inside: avoid; } h2 { break-after: avoid; }
  a { text-decoration: none; } details::details-content { content-visibility: visible; block-size: auto; } }
)";

}  // namespace report
