#pragma once

namespace report {

/// Common style of the pages of `gpuadm gpu top -o html` and `gpuadm health history -o html`; light and dark
/// follow the system.
inline constexpr const char* page_style = R"(
:root { --paper: #fff; --ink: #1c2330; --dim: #5b6472; --line: #d8dde5; --card: #f6f7f9; --link: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e6e9ee; --dim: #9aa4b2; --line: #2f3641;
  --card: #1b2027; --link: #82b4f5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 82rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; overflow-wrap: anywhere; } h2 { margin: 0; font-size: 1.1rem; overflow-wrap: anywhere; }
p { margin: .2rem 0 1rem; color: var(--dim); } code { font: .85rem ui-monospace, monospace; overflow-wrap: anywhere; }
section { margin: 1rem 0; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); }
svg { display: block; width: 100%; }
table { margin-top: .8rem; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem 1.2rem .15rem 0; text-align: left; overflow-wrap: anywhere; } th { color: var(--dim); font-weight: 600; }
@media (max-width: 40rem) { body { padding: .8rem; } section { padding: .7rem; } }
@media print { :root { --paper: #fff; --ink: #000; --dim: #444; --line: #bbb; --card: #fff; --link: #000; }
  body { max-width: none; padding: 0; } section { break-inside: avoid; } }
)";

/// What the page of `gpuadm gpu top` adds to it.
inline constexpr const char* gpu_plot_style = R"(
:root { --series: #1f5fa8; --fill: #1f5fa826; --slow: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --series: #82b4f5; --fill: #82b4f52e; --slow: #ff8a80; } }
nav { display: flex; flex-wrap: wrap; gap: .3rem .9rem; margin: 0 0 1.2rem; } a { color: var(--link); }
section > p { margin: 0 0 .6rem; font-size: .9rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: .8rem 1.6rem; }
figure { margin: 0; min-width: 0; }
figcaption { display: flex; justify-content: space-between; gap: 1rem; font-size: .85rem; color: var(--dim); }
figcaption b { color: var(--ink); font-weight: 600; } figcaption span { font-variant-numeric: tabular-nums; }
svg { height: auto; }
svg text { fill: var(--dim); font: 11px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; } .mean { fill: none; stroke: var(--series); stroke-width: 1.5; stroke-linejoin: round; }
.range { fill: var(--fill); stroke: none; } .slow { fill: var(--slow); }
.key { display: inline-block; width: .8rem; height: .5rem; margin-right: .4rem; background: var(--slow); }
@media print { :root { --series: #1f5fa8; --fill: #1f5fa826; --slow: #b3261e; } nav { display: none; } }
)";

/// What the page of `gpuadm health history` adds to it.
inline constexpr const char* timeline_style = R"(
:root { --good: #2e7d4f; --warning: #b26a00; --bad: #b3261e; --excluded: #6b5b95; }
@media (prefers-color-scheme: dark) { :root { --good: #6fcf97; --warning: #f2b84b; --bad: #ff8a80; --excluded: #b9a7e6; } }
h2 { margin-bottom: .5rem; }
.bar { display: grid; grid-template-columns: 22rem 1fr; gap: .8rem; align-items: center; }
.bar span { font-size: .85rem; overflow-wrap: anywhere; }
svg { height: 1.25rem; }
.base { stroke: var(--line); stroke-width: 1; } .good { fill: var(--good); } .warning { fill: var(--warning); }
.bad { fill: var(--bad); } .excluded { fill: var(--excluded); }
.axis { display: flex; justify-content: space-between; margin-left: 22.8rem; font-size: .8rem; color: var(--dim);
  font-variant-numeric: tabular-nums; }
.key { display: inline-block; width: .8rem; margin: 0 .3rem 0 .9rem; }
caption { text-align: left; color: var(--dim); } td { vertical-align: top; } td:first-child { white-space: nowrap; }
@media (max-width: 50rem) { .bar { grid-template-columns: 1fr; gap: 0; } .axis { margin-left: 0; } }
)";

/// What the page of `gpuadm usage` adds to it.
inline constexpr const char* bar_chart_style = R"(
:root { --whole: #9db8d6; --part: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --whole: #3f556f; --part: #82b4f5; } }
.chart { display: grid; grid-template-columns: 5.5rem 1fr; gap: .8rem; }
.chart span { font-size: .8rem; color: var(--dim); text-align: right; }
svg { height: 6rem; border-bottom: 1px solid var(--line); border-top: 1px dashed var(--line); }
.whole { fill: var(--whole); background: var(--whole); } .part { fill: var(--part); background: var(--part); }
.axis { display: flex; justify-content: space-between; margin-left: 6.3rem; font-size: .8rem; color: var(--dim); }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 .9rem; }
main { overflow-x: auto; }
@media (max-width: 40rem) { .chart { grid-template-columns: 1fr; gap: 0; } .axis { margin-left: 0; } .chart span { text-align: left; } }
@media print { :root { --whole: #9db8d6; --part: #1f5fa8; } }
)";

}  // namespace report
