'use strict';
// The page of `gpuadm dashboard`. Texts of hosts reach the page as text nodes and attributes only. Rows are updated in place, so that focus,
// selection and scrolling stay where they are.
(() => {
  const byId = (id) => document.getElementById(id);
  const svgSpace = 'http://www.w3.org/2000/svg';
  const units = { utilization: '%', memory: 'MiB', power: 'W', temperature: '°C' };
  const leastPoints = 30, longestWait = 10000, quiet = 10000;
  let live = null, cluster = {}, version = -1, timer = 0, paused = false, lostSince = null;

  // --- Elements -----------------------------------------------------------------------------------------
  const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const setClass = (node, name) => { if (node.getAttribute('class') !== name) node.setAttribute('class', name); };
  const setAttribute = (node, name, value) => { if (node.getAttribute(name) !== value) node.setAttribute(name, value); };
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const makeSvg = (tag, attributes = {}) => {
    const node = document.createElementNS(svgSpace, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };

  /// Keeps one child of `parent` for each item, by its key, in the order of the items.
  const sync = (parent, items, keyOf, create, update) => {
    const known = parent.kept || (parent.kept = new Map());
    const seen = new Set();
    let previous = null;
    for (const item of items) {
      const key = keyOf(item);
      if (seen.has(key)) continue;
      seen.add(key);
      let node = known.get(key);
      if (!node) known.set(key, node = create(item));
      update(node, item);
      const next = previous ? previous.nextElementSibling : parent.firstElementChild;
      const place = previous || !parent.fixed ? next : parent.fixed.nextElementSibling;
      if (node !== place) parent.insertBefore(node, place);
      previous = node;
    }
    for (const [key, node] of known) if (!seen.has(key)) { node.remove(); known.delete(key); }
  };

  const cell = (label, ...children) => make('td', { role: 'cell', 'data-label': label }, ...children);
  const rowHeader = (...children) => make('th', { role: 'rowheader', scope: 'row' }, ...children);
  const word = (state, text) => make('span', { class: 'word ' + state }, text);
  const setWord = (node, state, text) => { setClass(node, 'word ' + state); setText(node, text); };
  /// Hides a table without rows; its note says why there are none.
  const showTable = (node, any) => node.closest('table').classList.toggle('no-rows', !any);

  // --- Values -------------------------------------------------------------------------------------------
  const plural = (count, name) => count + ' ' + name + (count === 1 ? '' : 's');
  const gib = (mib) => mib === null || mib === undefined ? '' : (mib / 1024).toFixed(1);
  const known = (value, unit) => value === null || value === undefined ? 'unknown' : value + unit;
  const time = (text) => {
    const date = new Date(text);
    if (!text || isNaN(date)) return 'unknown';
    const today = new Date(live ? live.time : Date.now()).toDateString() === date.toDateString();
    return today ? date.toLocaleTimeString([], { hour12: false }) : date.toLocaleString([], { hour12: false });
  };
  const span = (seconds) => {
    if (!(seconds >= 0)) return '';
    if (seconds < 120) return Math.round(seconds) + ' s';
    if (seconds < 7200) return Math.round(seconds / 60) + ' min';
    if (seconds < 172800) return Math.round(seconds / 3600) + ' h';
    return Math.round(seconds / 86400) + ' days';
  };
  const secondsBetween = (from, to) => (new Date(to) - new Date(from)) / 1000;
  const sum = (items, of) => items.reduce((total, item) => total + (of(item) || 0), 0);

  // --- Plots --------------------------------------------------------------------------------------------
  const numbers = (text) => text ? text.split(' ').map((one) => one === '-' ? null : Number(one)) : [];

  const makePlot = () => {
    const svg = makeSvg('svg', { class: 'plot', role: 'img', viewBox: '0 0 100 30', preserveAspectRatio: 'none' });
    svg.append(makeSvg('path', { class: 'area' }), makeSvg('path', { class: 'line' }));
    return svg;
  };

  /// Gaps are where a host had no readings.
  const drawPlot = (svg, values, top, name) => {
    const width = Math.max(values.length, leastPoints) - 1, begin = width + 1 - values.length;
    const x = (i) => ((begin + i) / width * 100).toFixed(2);
    const y = (value) => (29 - Math.min(1, Math.max(0, value / top)) * 28).toFixed(2);
    let line = '', area = '', first = -1;
    for (let i = 0; i <= values.length; ++i) {
      const value = i < values.length ? values[i] : null;
      if (value !== null) {
        line += (first < 0 ? 'M' : 'L') + x(i) + ' ' + y(value);
        area += (first < 0 ? 'M' + x(i) + ' 30L' : 'L') + x(i) + ' ' + y(value);
        if (first < 0) first = i;
      } else if (first >= 0) {
        if (i - first === 1) line += 'h.5';
        area += 'L' + x(i - 1) + ' 30Z';
        first = -1;
      }
    }
    setAttribute(svg.lastElementChild, 'd', line);
    setAttribute(svg.firstElementChild, 'd', area);
    const read = values.filter((value) => value !== null);
    const mean = read.length ? Math.round(sum(read, (value) => value) / read.length) : 0;
    setAttribute(svg, 'aria-label', read.length
      ? `${name} over time: lowest ${Math.min(...read)}, mean ${mean}, highest ${Math.max(...read)} ${units[svg.dataset.value]}`
      : `${name} over time: no readings`);
  };

  const roundUp = (value) => {
    let top = 1;
    while (top < value) top *= 2;
    return top;
  };

  // --- Sections -----------------------------------------------------------------------------------------
  const showTotals = () => {
    const gpus = live.gpus.filter((gpu) => !gpu.old);
    const read = gpus.filter((gpu) => gpu.utilization !== null);
    const allocations = new Map((cluster.gpuHosts || []).map((host) => [host.host, host.used]));
    const hosts = [...new Set(gpus.map((gpu) => gpu.host))];
    // A pod holds its GPUs also while it runs no program on them.
    const used = sum(hosts, (host) => Math.max(gpus.filter((gpu) => gpu.host === host && gpu.users && gpu.users.length).length,
      Math.min(allocations.get(host) || 0, gpus.filter((gpu) => gpu.host === host).length)));
    const unsure = gpus.some((gpu) => gpu.users === null) || hosts.some((host) => typeof allocations.get(host) !== 'number');
    const answering = live.hosts.filter((host) => host.state === 'answering' || host.state === 'no nvidia-smi').length;
    const silent = live.hosts.filter((host) => host.state === 'not answering').length;
    const partly = live.hosts.length - answering - silent;
    const verdict = live.verdict;
    const apart = live.gpus.filter((gpu) => gpu.quarantine).length;
    const total = (of) => sum(gpus, of);
    sync(byId('totals'), [
      ['Hosts read', `${answering}`, `of ${live.hosts.length}` + (partly ? `, ${partly} without all readings` : '')],
      ['GPUs in use', gpus.length || !live.verdict.unread.length ? (unsure ? 'at least ' : '') + `${used}` : '–', `of ${gpus.length}` + (apart ? `, ${apart} in quarantine` : '')],
      ['Utilization', read.length ? Math.round(sum(read, (gpu) => gpu.utilization) / read.length) + '%' : '–', read.length ? 'mean' : ''],
      ['Memory', gib(total((gpu) => gpu.memoryUsedMiB)), `of ${gib(total((gpu) => gpu.memoryTotalMiB))} GiB`],
      ['Power', (total((gpu) => gpu.powerW) / 1000).toFixed(2), `of ${(total((gpu) => gpu.powerLimitW) / 1000).toFixed(2)} kW`],
      ['Problems', verdict.health === 'unknown' ? 'unknown' : `${verdict.problems}`, verdict.unread.length ? `${plural(verdict.unread.length, 'reading')} missing` : ''],
    ], (tile) => tile[0], (tile) => make('div', {}, make('dt', {}, tile[0]), make('dd', {}, make('span'), ' ', make('small'))), (node, tile) => {
      setText(node.querySelector('span'), tile[1]);
      setText(node.querySelector('small'), tile[2]);
    });
  };

  const showHead = () => {
    const name = cluster.cluster || '';
    setText(byId('title'), name ? `Cluster ${name}` : 'gpuadm dashboard');
    document.title = (name ? name + ': ' : '') + 'gpuadm dashboard';
    const parts = [];
    if (cluster.version) parts.push(`Kubernetes ${cluster.version}`);
    if (cluster.endpoint) parts.push(`at ${cluster.endpoint}`);
    if (cluster.network) parts.push(cluster.network);
    if (!parts.length) parts.push(cluster.problems ? 'no control-plane node has described the cluster' : 'waiting for the first readings');
    setText(byId('subtitle'), parts.join(', '));
    if (!frozen()) setText(byId('updated'), `Updated ${time(live.time)}`);
  };

  const showProblems = () => {
    const problems = cluster.problems || [];
    const notes = [];
    notes.push(`${live.verdict.text[0].toUpperCase()}${live.verdict.text.slice(1)}.`);
    for (const one of live.verdict.unread) notes.push(`Not read: ${one.where}: ${one.what}.`);
    if (cluster.read) notes.push(`The cluster was read at ${time(cluster.read)}.`);
    if (cluster.old) notes.push(`This is old: ${cluster.old}.`);
    if (cluster.note) notes.push(cluster.note);
    setText(byId('problems-note'), notes.join(' '));
    sync(byId('problem-list'), problems, (one) => one.where + '\n' + one.what,
      (one) => make('li', {}, make('b', {}, one.where), one.what, make('span', { class: 'detail' }, 'Fix: ', make('code'))),
      (node, one) => {
        setText(node.querySelector('code'), one.remedy);
        node.querySelector('.detail').hidden = !one.remedy;
      });
  };

  const connectionOf = (host) => {
    if (host.state === 'answering') return ['good', 'answering'];
    if (host.state === 'not answering') return ['bad', 'not answering'];
    return [host.state === 'no nvidia-smi' ? 'none' : 'unsure', host.state];
  };
  const sinceOf = (host) => {
    const parts = [];
    if (host.since) parts.push(`since ${time(host.since)}, ${span(secondsBetween(host.since, live.time))}`);
    const own = `${host.host}: `;
    if (host.why && host.why !== host.state) parts.push(host.why.startsWith(own) ? host.why.slice(own.length) : host.why);
    return parts.join(': ');
  };

  const showHosts = () => {
    const nodes = new Map((cluster.nodes || []).map((node) => [node.host, node]));
    sync(byId('host-rows'), live.hosts, (host) => host.host, (host) => make('tr', { role: 'row' }, rowHeader(host.host),
      cell('Connection', word('none', ''), make('span', { class: 'detail' })), cell('Node', word('none', ''), make('span', { class: 'detail' })),
      cell('Role'), cell('Kubelet'), cell('GPUs')), (row, host) => {
      const [, connection, node, role, kubelet, gpus] = row.children;
      setWord(connection.firstChild, ...connectionOf(host));
      setText(connection.lastChild, sinceOf(host));
      const found = nodes.get(host.host);
      if (!found) setWord(node.firstChild, 'none', cluster.nodes && cluster.nodes.length ? 'not a node' : 'unknown');
      else setWord(node.firstChild, found.status === 'Ready' ? 'good' : found.status === 'NotReady' ? 'bad' : 'unsure', found.status + (found.cordoned ? ', cordoned' : ''));
      setText(node.lastChild, found ? (found.name === host.host ? '' : found.name) + (found.why ? ' ' + found.why : '') : '');
      setText(role, found ? found.role : '–');
      setText(kubelet, found ? found.kubelet : '–');
      const own = live.gpus.filter((gpu) => gpu.host === host.host);
      setText(gpus, own.length ? `${own.length}` : '–');
    });
  };

  const metric = (name, label, value) => {
    const plot = makePlot();
    plot.dataset.value = value;
    const node = cell(label, make('span', { class: 'value' }, make('span'), make('small')), plot);
    node.classList.add(name);
    return node;
  };
  const setMetric = (node, values, text, small, top, name) => {
    const [shown, beside] = node.firstChild.children;
    setText(shown, text);
    setText(beside, small);
    const plot = node.lastChild;
    plot.toggleAttribute('hidden', values.length === 0);
    if (values.length) drawPlot(plot, values, top, name);
  };

  const makeGpu = (gpu) => make('tr', { role: 'row' },
    rowHeader(`GPU ${gpu.index}`, make('span', { class: 'detail' }), make('span', { class: 'badge', hidden: '' }), make('span', { class: 'badge fault', hidden: '' }),
      make('span', { class: 'badge apart', hidden: '' })),
    metric('use', 'Utilization', 'utilization'), metric('memory', 'Memory', 'memory'), metric('power', 'Power', 'power'),
    metric('heat', 'Temperature', 'temperature'), cell('Used by', make('ul', { class: 'users' })));

  const updateGpu = (row, gpu) => {
    const [head, use, memory, power, heat, users] = row.children;
    setClass(row, gpu.old ? 'old' : '');
    const [model, slow, fault, apart] = head.querySelectorAll('span');
    setText(model, gpu.model || 'unknown model');
    const reasons = gpu.throttle || [];
    slow.hidden = !reasons.length;
    setText(slow, 'throttled: ' + reasons.join(', ').replaceAll('_', ' '));
    const trouble = gpu.old ? `old, from ${time(gpu.seen)}: ${gpu.old}` : gpu.fault;
    fault.hidden = !trouble;
    setText(fault, trouble);
    apart.hidden = !gpu.quarantine;
    setText(apart, gpu.quarantine ? `in quarantine since ${time(gpu.quarantine.since)}` + (gpu.quarantine.reason ? `: ${gpu.quarantine.reason}` : '') : '');
    const series = {};
    for (const name of Object.keys(units)) series[name] = numbers(gpu.plots[name]);
    setMetric(use, series.utilization, known(gpu.utilization, '%'), '', 100, 'Utilization');
    setMetric(memory, series.memory, gpu.memoryUsedMiB === null ? 'unknown' : `${gib(gpu.memoryUsedMiB)} GiB`, gpu.memoryTotalMiB ? `of ${gib(gpu.memoryTotalMiB)}` : '',
      gpu.memoryTotalMiB || roundUp(Math.max(1, ...series.memory)), 'Memory');
    setMetric(power, series.power, known(gpu.powerW, ' W'), gpu.powerLimitW ? `of ${gpu.powerLimitW}` : '', gpu.powerLimitW || roundUp(Math.max(1, ...series.power)), 'Power');
    setMetric(heat, series.temperature, known(gpu.temperatureC, ' °C'), '', 100, 'Temperature');
    const partitions = gpu.partitions.map((one) => ({ label: `MIG ${one.profile}`, memoryMiB: one.memoryUsedMiB }));
    const list = gpu.users === null ? [{ label: 'unknown', memoryMiB: null }] : gpu.users.length ? gpu.users : partitions.length ? [] : [{ label: 'nobody', memoryMiB: null }];
    sync(users.firstChild, [...list, ...partitions].map((one, at) => ({ ...one, at })), (one) => `${one.at}`, () => make('li'),
      (node, one) => setText(node, one.label + (one.memoryMiB === null ? '' : `, ${gib(one.memoryMiB)} GiB`)));
  };

  const showGpus = () => {
    const table = byId('gpus').querySelector('table');
    table.fixed = table.tHead;
    const names = [...new Set(live.gpus.map((gpu) => gpu.host))];
    const states = new Map(live.hosts.map((host) => [host.host, host]));
    showTable(table, names.length > 0);
    const plots = live.plots;
    const notes = [];
    if (!names.length) notes.push('No GPU was read yet.');
    else notes.push(`Plots: the last ${plots.points === 1 ? 'sample' : plots.points + ' samples'}${plots.points > 1 ? `, ${time(plots.from)} to ${time(plots.to)}` : ''}. Gaps: nothing was read.`);
    if (plots.omitted) notes.push(`${plural(plots.omitted, 'GPU')} without a plot; select hosts on the command line.`);
    setText(byId('gpus-note'), notes.join(' '));
    sync(table, names, (name) => name, (name) => {
      const head = make('tr', { class: 'group', role: 'row' }, make('th', { role: 'rowheader', scope: 'rowgroup', colspan: '6' }, name, make('span', { class: 'detail' })));
      const body = make('tbody', { role: 'rowgroup' }, head);
      body.fixed = head;
      return body;
    }, (body, name) => {
      const host = states.get(name);
      setText(body.fixed.querySelector('span'), host && host.state !== 'answering' ? `${host.state} ${sinceOf(host)}` : '');
      sync(body, live.gpus.filter((gpu) => gpu.host === name), (gpu) => gpu.uuid || `#${gpu.index}`, makeGpu, updateGpu);
    });
  };

  const linkStates = { ok: 'good', broken: 'bad', unknown: 'unsure', skipped: 'none', 'not reached': 'none' };
  const showChain = () => {
    const chains = cluster.chains || [];
    const links = chains.length ? Object.keys(chains[0].links) : [];
    const head = byId('chain-head');
    head.fixed = head.firstElementChild;
    sync(head, [...links, 'First broken link'], (name) => name, (name) => make('th', { scope: 'col' }, name), () => {});
    showTable(head, chains.length > 0);
    const unread = [...new Set(live.gpus.map((gpu) => gpu.host))].filter((host) => !chains.some((chain) => chain.host === host));
    setText(byId('chain-note'), (chains.length ? 'Each link depends on those before it. gpuadm verify also tests network, DNS and computing in pods.'
      : cluster.chains ? 'No GPU was found on a host that was read.' : 'The hosts have not been read yet.') + (cluster.chains && unread.length ? ` Not read: ${unread.join(', ')}.` : ''));
    sync(byId('chain-rows'), chains, (chain) => chain.host, (chain) => {
      const row = make('tr', {}, make('th', { scope: 'row' }, chain.host));
      for (const name of links) row.append(make('td', { 'data-link': name }, word('none', '')));
      row.append(make('td', {}, make('span'), make('span', { class: 'detail' }), make('span', { class: 'detail' }, 'Fix: ', make('code'))));
      return row;
    }, (row, chain) => {
      links.forEach((name, i) => {
        const link = chain.links[name];
        const node = row.children[i + 1].firstChild;
        setWord(node, linkStates[link.state] || 'unsure', link.state);
        setAttribute(node, 'title', link.message);
      });
      const [says, evidence, fix] = row.lastChild.children;
      const first = chain.first;
      setText(says, first ? `${first.link}: ${first.message}` : 'none');
      setText(evidence, first ? first.evidence : '');
      fix.hidden = !first || !first.remedy;
      setText(fix.lastChild, first ? first.remedy : '');
    });
  };

  const showWorkloads = () => {
    const list = cluster.workloads ? cluster.workloads.workloads : [];
    setText(byId('workloads-note'), !cluster.workloads ? 'The workloads have not been read.' : !list.length ? 'There are no workloads.'
      : cluster.workloads.omitted ? `${cluster.workloads.omitted} more are not listed; use gpuadm workload list.` : '');
    showTable(byId('workload-rows'), list.length > 0);
    const now = new Date(live.time) / 1000;
    sync(byId('workload-rows'), list, (one) => `${one.kind}\n${one.namespace}\n${one.name}`, (one) => make('tr', { role: 'row' }, rowHeader(one.name), cell('Kind', one.kind),
      cell('Namespace', one.namespace), cell('GPUs'), cell('Node'), cell('Age'), cell('State', word('none', ''), make('span', { class: 'detail' }))), (row, one) => {
      const [, , , gpus, node, age, state] = row.children;
      setText(gpus, one.gpus);
      setText(node, one.node || '–');
      setText(age, one.created ? span(now - one.created) : 'unknown');
      setWord(state.firstChild, one.state === 'failed' ? 'bad' : one.why ? 'unsure' : /^(ready|running|completed|Bound)$/.test(one.state) ? 'good' : 'none', one.state);
      setText(state.lastChild, one.why);
    });
  };

  const conditionStates = { True: ['good', 'healthy'], False: ['bad', 'unhealthy'], Unknown: ['unsure', 'unknown'] };
  const conditionWord = (status) => conditionStates[status] || ['none', 'not checked'];

  /// A low bar while the condition is True, a high one while it is False or Unknown.
  const drawStrip = (svg, entries, type, from, to) => {
    const x = (at) => Math.min(100, Math.max(0, (new Date(at) - from) / (to - from) * 100));
    const bars = [];
    entries.forEach((entry, i) => {
      const status = entry.conditions[type];
      const begin = x(entry.at), end = i + 1 < entries.length ? x(entries[i + 1].at) : 100;
      if (conditionStates[status] && end > begin) bars.push({ status, begin, width: Math.max(end - begin, .4), key: entry.at + i });
    });
    svg.fixed = svg.firstElementChild;
    sync(svg, bars, (bar) => bar.key, () => makeSvg('rect'), (node, bar) => {
      setClass(node, bar.status);
      setAttribute(node, 'x', bar.begin.toFixed(2));
      setAttribute(node, 'width', bar.width.toFixed(2));
      setAttribute(node, 'y', bar.status === 'True' ? '6' : '0');
      setAttribute(node, 'height', bar.status === 'True' ? '4' : '10');
    });
    const times = entries.filter((entry) => entry.conditions[type] === 'False').length;
    setAttribute(svg, 'aria-label', `${type} since ${time(new Date(from).toISOString())}: ${plural(times, 'record')} with unhealthy`);
  };

  const showHealth = () => {
    const hosts = cluster.health || [];
    const table = byId('health').querySelector('table');
    table.fixed = table.tHead;
    const all = hosts.flatMap((host) => host.history.map((entry) => ({ ...entry, host: host.host })));
    const times = all.map((entry) => +new Date(entry.at)).filter((at) => !isNaN(at));
    const to = +new Date(live.time);
    const from = times.length ? Math.min(...times, to - 60000) : to - 60000;
    showTable(table, hosts.length > 0);
    byId('health-details').hidden = !all.length;
    setText(byId('health-note'), hosts.length ? 'As the nodes recorded it themselves; a high bar is unhealthy or unknown.'
      : cluster.health ? 'No host checks itself. gpuadm health enable starts it.' : 'The hosts have not been read yet.');
    setText(byId('health-range'), hosts.length ? `${time(new Date(from).toISOString())} to ${time(live.time)}` : 'Over time');
    sync(table, hosts, (host) => host.host, () => make('tbody'), (body, host) => {
      const now = new Map((host.checked || []).map((one) => [one.type, one]));
      const types = [...new Set([...now.keys(), ...host.history.flatMap((entry) => Object.keys(entry.conditions))])];
      sync(body, types.map((type, at) => ({ type, at })), (one) => one.type, (one) => {
        const row = make('tr');
        if (one.at === 0) row.append(make('th', { scope: 'rowgroup', rowspan: `${types.length}` }, host.host, make('span', { class: 'detail' })));
        const strip = makeSvg('svg', { class: 'strip', role: 'img', viewBox: '0 0 100 10', preserveAspectRatio: 'none' });
        strip.append(makeSvg('rect', { class: 'base', x: '0', y: '9', width: '100', height: '1' }));
        row.append(make('td', {}, one.type), make('td', {}, word('none', ''), make('span', { class: 'detail' })), make('td', {}, strip));
        return row;
      }, (row, one) => {
        const current = now.get(one.type);
        const cells = row.querySelectorAll('td');
        setWord(cells[1].firstChild, ...conditionWord(current && current.status));
        setText(cells[1].lastChild, current && current.status !== 'True' ? current.message || current.reason || '' : '');
        drawStrip(cells[2].firstChild, host.history, one.type, from, to);
        if (one.at === 0) setText(row.querySelector('th .detail'), host.problem || (host.reached ? host.lastRun ? `checked ${time(host.lastRun)}` : 'not checked yet' : 'not answering'));
      });
    });
    all.sort((a, b) => new Date(b.at) - new Date(a.at));
    sync(byId('change-rows'), all.slice(0, 200).map((entry, at) => ({ ...entry, key: `${entry.host}\n${entry.at}\n${all.length - at}` })), (entry) => entry.key,
      (entry) => make('tr', {}, make('td', {}, time(entry.at)), make('th', { scope: 'row' }, entry.host),
        make('td', {}, Object.entries(entry.conditions).map(([type, status]) => `${type} ${conditionWord(status)[1]}`).join(', ')),
        make('td', {}, [entry.firstBrokenLink, entry.note].filter(Boolean).join('; ') || 'nothing is broken')), () => {});
  };

  // --- What is said aloud, rarely -----------------------------------------------------------------------
  let saidAt = 0, said = null;
  const announce = () => {
    const silent = live.hosts.filter((host) => host.state === 'not answering').map((host) => host.host);
    const text = live.verdict.text + '. ' + (silent.length ? `Not answering: ${silent.join(', ')}.` : 'All hosts answer.');
    if (said === null) said = text;
    if (text === said || Date.now() - saidAt < quiet) return;
    said = text;
    saidAt = Date.now();
    setText(byId('announcer'), text);
  };

  const show = () => {
    showHead();
    showTotals();
    showProblems();
    showHosts();
    showGpus();
    showChain();
    showWorkloads();
    showHealth();
    announce();
    // A table that scrolls must be reachable by keyboard.
    for (const node of document.querySelectorAll('.scroll')) {
      const scrolls = node.scrollWidth > node.clientWidth;
      if (scrolls) {
        setAttribute(node, 'tabindex', '0');
        setAttribute(node, 'role', 'region');
        setAttribute(node, 'aria-label', node.querySelector('caption').textContent);
      } else {
        for (const name of ['tabindex', 'role', 'aria-label']) node.removeAttribute(name);
      }
    }
  };

  // --- Where the data comes from ------------------------------------------------------------------------
  const frozen = () => byId('frozen-live');

  const setLost = (why) => {
    const node = byId('lost');
    if (why && !lostSince) lostSince = new Date().toISOString();
    if (!why) lostSince = null;
    node.hidden = !why;
    setText(node, why ? `gpuadm has not answered since ${time(lostSince)}: ${why}. The values below are old.` : '');
    document.body.classList.toggle('lost', Boolean(why));
  };

  const read = async (name) => {
    const answer = await fetch(name, { cache: 'no-store', signal: AbortSignal.timeout(longestWait) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.json();
  };

  const update = async () => {
    clearTimeout(timer);
    timer = 0;
    if (paused || document.hidden) return;
    try {
      live = await read('live.json');
      if (live.clusterVersion !== version) {
        cluster = await read('cluster.json');
        version = live.clusterVersion;
      }
      if (paused) return;
      setLost('');
      show();
    } catch (error) {
      setLost(error instanceof TypeError ? 'it has ended, or cannot be reached' : error.name === 'TimeoutError' ? 'no answer within 10 s' : error.message);
    }
    if (!timer) timer = setTimeout(update, Math.max(1, live ? live.interval : 2) * 1000);
  };

  if (frozen()) {
    live = JSON.parse(frozen().textContent);
    cluster = JSON.parse(byId('frozen-cluster').textContent);
    byId('pause').hidden = true;
    show();
    setText(byId('updated'), `Written ${new Date(live.time).toLocaleString([], { hour12: false })}`);
    return;
  }
  byId('pause').addEventListener('click', () => {
    paused = !paused;
    byId('pause').setAttribute('aria-pressed', `${paused}`);
    setText(byId('updated'), live ? (paused ? 'Paused at ' : 'Updated ') + time(live.time) : '');
    update();
  });
  document.addEventListener('visibilitychange', update);
  update();
})();
