// What the page does where JavaScript runs: live charts in place of the static
// pictures, nodes over time, and a switch between light and dark. It reads one
// island of JSON, fetches nothing, and draws text as text only.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  root.classList.add('js');
  document.getElementById('hint').hidden = false;

  // ---- Colours: the style sheet's, as the theme of the moment has them.
  const probe = document.body.appendChild(document.createElement('i'));
  probe.hidden = true;
  const colour = (name) => {
    probe.className = 'probe';
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const pale = (name) => colour(name).replace(/^rgb\((.*)\)$/, (_, rgb) => `rgba(${rgb}, 0.18)`);
  const dashes = [[], [6, 3], [2, 3], [9, 3, 2, 3]];

  // ---- Numbers, as ticks.go prints them.
  const commas = (text) => text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
  const digits = (v, n) => String(Number(v.toPrecision(n)));
  const pair = (v, large, name, small, smallName) => {
    const n = Math.round(v / small), per = large / small, rest = n % per;
    return commas(String(Math.floor(n / per))) + name + (rest ? rest + smallName : '');
  };
  const duration = (v) => {
    if (v === 0) return '0';
    if (v < 0.9995e-3) return digits(v * 1e6, 3) + 'µs';
    if (v < 0.9995) return digits(v * 1e3, 3) + 'ms';
    if (v < 59.95) return digits(v, 3) + 's';
    if (v < 3599.5) return pair(v, 60, 'm', 1, 's');
    if (v < 86370) return pair(v, 3600, 'h', 60, 'm');
    return pair(v, 86400, 'd', 3600, 'h');
  };
  // show prints a value of an axis; step is how far apart such values lie.
  const show = (unit, v, step) => {
    if (v == null) return '–';
    if (unit === 's') return duration(v);
    const scaled = unit === 'share' ? 100 * v : v;
    const by = unit === 'share' ? 100 * step : step;
    const decimals = Math.min(6, Math.max(0, -Math.floor(Math.log10(by) + 1e-9)));
    return commas(scaled.toFixed(decimals)) + (unit === 'share' ? '%' : '');
  };
  const clockSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 432000, 864000, 1728000, 4320000, 8640000];
  const roundSteps = [];
  for (let p = -6; p < 12; p++) for (const m of [1, 2, 5]) roundSteps.push(Number(`${m}e${p}`));

  // ---- Live charts.
  const charts = [];
  const wideSteps = { s: roundSteps.filter((s) => s < 1).concat(clockSteps), count: roundSteps.filter((s) => s >= 1) };

  // powers keeps the powers of ten of a logarithmic axis.
  const powers = (u, splits) => splits.map((v) => (Math.abs(Math.log10(v) % 1) < 1e-6 || Math.abs(Math.log10(v) % 1) > 1 - 1e-6 ? v : null));

  // named prints the powers of ten for which there is room, in whole seconds.
  const named = (u, a, splits) => {
    const seen = splits.filter((v) => v != null).length, every = Math.max(1, Math.ceil((52 * seen) / (u.width - 70)));
    return splits.map((v) => {
      if (v == null || Math.round(Math.log10(v / a.low)) % every) return '';
      return a.unit === 's' && v >= 1 ? commas(String(v)) + 's' : show(a.unit, v, v);
    });
  };
  const axisOf = (a, space) => {
    const grid = { stroke: () => colour('rule'), width: 1 }, font = '11.5px system-ui, sans-serif';
    const axis = { stroke: () => colour('quiet'), grid, ticks: { show: false }, font, space };
    if (a.log) {
      grid.filter = axis.filter = powers;
      axis.values = (u, splits) => named(u, a, splits);
    } else {
      axis.incrs = wideSteps[a.unit] || roundSteps;
      axis.values = (u, splits, i, s, step) => splits.map((v) => show(a.unit, v, step));
    }
    return axis;
  };

  // piles returns the running sums of the bands that are shown.
  const piles = (figure, shown) => {
    let floor = null;
    return figure.lines.map((l, i) => {
      if (l.over || !shown[i]) return l.y;
      floor = l.y.map((y, j) => (y || 0) + (floor ? floor[j] : 0));
      return floor;
    });
  };

  // build turns a figure into the options and data of uPlot. Quartiles are
  // series of their own that follow their line and stay out of the legend.
  const build = (figure, at, size) => {
    const series = [{ label: figure.x.log ? 'within' : 'at', value: (u, v) => show(figure.x.unit, v, 0.001) }];
    const columns = [at], bands = [];
    const step = figure.y.high / 1000;
    const ys = figure.stacked ? piles(figure, figure.lines.map(() => true)) : figure.lines.map((l) => l.y);
    const path = figure.stepped ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    let below = 0;
    figure.lines.forEach((l, i) => {
      const band = figure.stacked && !l.over;
      series.push({
        label: l.name, stroke: () => colour(l.colour), width: band ? 0 : l.colour[0] === 'p' ? 1.75 : 1.25, dash: dashes[l.dash || 0],
        fill: band ? () => colour(l.colour) : undefined, points: { show: false }, paths: path, spanGaps: false,
        value: (u, v, s, j) => show(figure.y.unit, j == null ? null : l.y[j], step),
      });
      columns.push(ys[i]);
      if (band) {
        if (below) bands.push({ series: [columns.length - 1, below] });
        below = columns.length - 1;
      }
    });
    figure.lines.forEach((l) => {
      if (!l.q1) return;
      for (const q of ['q3', 'q1']) {
        series.push({ label: q, class: 'companion', stroke: 'transparent', width: 0, points: { show: false }, paths: path });
        columns.push(l[q]);
      }
      bands.push({ series: [columns.length - 2, columns.length - 1], fill: () => pale(l.colour) });
    });
    const x = { time: false, distr: figure.x.log ? 3 : 1, range: (u, low, high) => (low === high ? [figure.x.low, figure.x.high] : [low, high]) };
    return [{
      ...size, series, bands, padding: [8, 26, 0, 0], scales: { x, y: { distr: figure.y.log ? 3 : 1, range: [figure.y.low, figure.y.high] } },
      axes: [
        { ...axisOf(figure.x, 58), size: 24, label: figure.x.label, labelSize: 16, labelGap: 0, labelFont: '11.5px system-ui, sans-serif' },
        { ...axisOf(figure.y, 34), size: 52 },
      ],
      cursor: { y: false, drag: { x: true, y: false }, sync: { key: figure.x.label, setSeries: false }, points: { size: 7 } },
      legend: { markers: { width: 3, dash: (u, i) => ['solid', 'dashed', 'dotted', 'dashed'][(figure.lines[i - 1] || {}).dash || 0] } },
      hooks: { setSeries: [(u, i) => i != null && follow(u, figure, i)] },
    }, columns];
  };
  // follow shows or hides what belongs to series i, and piles up what is left.
  const follow = (u, figure, i) => {
    const line = figure.lines[i - 1];
    if (!line) return;
    const on = u.series[i].show;
    if (line.q1) {
      const first = figure.lines.length + 1 + 2 * figure.lines.slice(0, i - 1).filter((l) => l.q1).length;
      for (const j of [first, first + 1]) if (u.series[j].show !== on) u.setSeries(j, { show: on });
    }
    if (!figure.stacked || line.over) return;
    const shown = u.series.slice(1).map((s) => s.show);
    const bands = [];
    let below = 0;
    figure.lines.forEach((l, j) => {
      if (l.over || !shown[j]) return;
      if (below) bands.push({ series: [j + 1, below] });
      below = j + 1;
    });
    u.delBand(null);
    bands.forEach((b) => u.addBand(b));
    u.setData([u.data[0], ...piles(figure, shown)], false);
    u.redraw();
  };

  // live puts a chart in the place of a picture.
  const live = (place) => {
    const number = Number(place.dataset.figure), figure = data.figures[number], at = data.grids[data.at[number]];
    const box = place.appendChild(document.createElement('div'));
    box.className = figure.stacked ? 'plot-live stacked' : 'plot-live';
    const height = place.querySelector('.chart').getBoundingClientRect().height;
    const size = () => ({ width: Math.max(200, Math.floor(place.clientWidth)), height });
    place.classList.add('live');
    const chart = new uPlot(...build(figure, at, size()), box);
    charts.push({ chart, figure });
    new ResizeObserver(() => {
      if (place.clientWidth && size().width !== chart.width) chart.setSize(size());
    }).observe(place);
    keys(chart, place, figure, at);
  };

  // keys makes a chart work without a mouse: its legend by Tab and Enter, its
  // cursor by the arrow keys.
  const keys = (chart, place, figure, at) => {
    place.querySelectorAll('.u-legend .u-series').forEach((row, i) => {
      const button = row.querySelector('th');
      if (i === 0 || row.classList.contains('companion')) return;
      button.tabIndex = 0;
      button.setAttribute('role', 'button');
      const update = () => button.setAttribute('aria-pressed', String(chart.series[i].show));
      update();
      button.addEventListener('click', () => setTimeout(update));
      button.addEventListener('keydown', (e) => {
        if (e.key !== 'Enter' && e.key !== ' ') return;
        e.preventDefault();
        button.click();
      });
    });
    chart.over.tabIndex = 0;
    chart.over.setAttribute('role', 'img');
    chart.over.setAttribute('aria-label', `${figure.title}: arrow keys move the cursor, Escape shows everything again`);
    chart.over.addEventListener('keydown', (e) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[e.key];
      if (e.key === 'Escape') chart.setScale('x', { min: at[0], max: at[at.length - 1] });
      if (!by) return;
      e.preventDefault();
      const i = Math.min(at.length - 1, Math.max(0, (chart.cursor.idx == null ? (by > 0 ? -1 : at.length) : chart.cursor.idx) + by));
      chart.setCursor({ left: chart.valToPos(at[i], 'x'), top: 0 });
    });
  };

  // Charts come alive when they come near the window, so that a page with many
  // of them opens at once.
  const watcher = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (!e.isIntersecting) continue;
      watcher.unobserve(e.target);
      live(e.target);
    }
  }, { rootMargin: '600px' });
  document.querySelectorAll('[data-figure]').forEach((place) => watcher.observe(place));

  // ---- Nodes over time.
  const gunzip = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  const heat = async () => {
    const slider = document.getElementById('moment'), label = document.getElementById('moment-at');
    const palette = data.heat.palette.map((hex) => [1, 3, 5].map((i) => parseInt(`#${hex}`.slice(i, i + 2), 16)));
    const names = await Promise.all(data.heat.names.map(async (n) => (n ? new TextDecoder().decode(await gunzip(n)).split('\n') : [])));
    const maps = await Promise.all(data.heat.runs.map(async (run, i) => {
      const canvas = document.querySelector(`canvas[data-heat="${i}"]`);
      return { run, canvas, fill: await gunzip(run.fill), names: names[run.names], cell: document.querySelector(`[data-cell="${i}"]`),
        head: canvas.parentNode.querySelector('.moment'), moment: run.times.length - 1, node: -1 };
    }));
    // All maps show one time; the longest run has the moments to choose from.
    const times = maps.map((m) => m.run.times).reduce((a, b) => (b[b.length - 1] > a[a.length - 1] ? b : a));

    const fillOf = (m, node) => m.fill[m.moment * m.run.nodes + node];
    const describe = (m) => {
      if (m.node >= 0) {
        const b = fillOf(m, m.node), name = m.names[m.node] || `node ${m.node + 1}`;
        m.cell.textContent = b ? `${name}: ${((b - 1) / 2).toFixed(0)}% taken${b === 255 ? ' or more' : ''}` : `${name}: not there`;
        return;
      }
      const at = m.fill.subarray(m.moment * m.run.nodes, (m.moment + 1) * m.run.nodes);
      let there = 0, empty = 0, full = 0;
      for (const b of at) { there += b > 0; empty += b === 1; full += b >= 201; }
      m.cell.textContent = `${commas(String(there))} nodes: ${commas(String(empty))} empty, ${commas(String(full))} full or over`;
    };
    const draw = (m) => {
      const context = m.canvas.getContext('2d'), picture = context.createImageData(m.canvas.width, m.canvas.height);
      for (let node = 0; node < m.run.nodes; node++) {
        const b = fillOf(m, node);
        if (b) picture.data.set([...palette[b], 255], 4 * node);
      }
      context.putImageData(picture, 0, 0);
      m.head.textContent = `after ${duration(m.run.times[m.moment])}`;
      describe(m);
    };
    const move = () => {
      const time = times[slider.value];
      label.textContent = duration(time);
      slider.setAttribute('aria-valuetext', `after ${duration(time)}`);
      for (const m of maps) {
        const near = m.run.times.reduce((best, t, i) => (Math.abs(t - time) < Math.abs(m.run.times[best] - time) ? i : best), 0);
        m.moment = near;
        draw(m);
      }
    };
    for (const m of maps) {
      const point = (node) => {
        m.node = node >= 0 && node < m.run.nodes ? node : -1;
        describe(m);
      };
      m.canvas.addEventListener('pointermove', (e) => {
        const x = Math.floor((e.offsetX / m.canvas.clientWidth) * m.canvas.width), y = Math.floor((e.offsetY / m.canvas.clientHeight) * m.canvas.height);
        point(x < 0 || x >= m.canvas.width ? -1 : y * m.canvas.width + x);
      });
      m.canvas.addEventListener('pointerleave', () => point(-1));
      m.canvas.addEventListener('blur', () => point(-1));
      m.canvas.addEventListener('keydown', (e) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -m.canvas.width, ArrowDown: m.canvas.width }[e.key];
        if (!by) return;
        e.preventDefault();
        point(m.node < 0 ? 0 : Math.min(m.run.nodes - 1, Math.max(0, m.node + by)));
      });
      m.canvas.parentNode.querySelector('img').hidden = true;
      m.canvas.hidden = false;
    }
    slider.max = times.length - 1;
    slider.value = times.length - 1;
    slider.addEventListener('input', move);
    slider.parentNode.hidden = times.length < 2;
    move();
  };
  if (data.heat && 'DecompressionStream' in window) heat();

  // ---- Light and dark: as the system says, until the reader says otherwise.
  const theme = document.getElementById('theme'), themes = ['automatic', 'light', 'dark'];
  const redraw = () => charts.forEach(({ chart, figure }) => {
    chart.redraw(false);
    chart.root.querySelectorAll('.u-series').forEach((row, i) => {
      const line = figure.lines[i - 1];
      if (line) row.querySelector('.u-marker').style.borderColor = colour(line.colour);
    });
  });
  theme.hidden = false;
  theme.addEventListener('click', () => {
    const next = themes[(themes.indexOf(root.dataset.theme || 'automatic') + 1) % themes.length];
    root.dataset.theme = next;
    theme.textContent = `Theme: ${next}`;
    theme.setAttribute('aria-label', theme.textContent);
    redraw();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
})();
