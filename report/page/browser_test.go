package page_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fairlead.dev/fairlead/report"
)

// The page in a real browser, Chromium without a window. Its tests skip where
// there is none, unless FAIRLEAD_BROWSER is "require", and with -short.

// chromium is the path of a browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("FAIRLEAD_BROWSER") == "require" {
		t.Fatal("FAIRLEAD_BROWSER=require, and there is no chromium in PATH")
	}
	t.Skip("there is no chromium in PATH")
	return ""
}

// shared is the browser of all tests, as a process of it takes seconds to start.
var shared struct {
	start sync.Once
	ctx   context.Context //nolint:containedctx // it is the browser
	stop  func()          // nil if it was not started
	err   error
}

// browser is the one of all tests. A browser that does not start, as happens on a busy machine, is started again.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium(t)
	shared.start.Do(func() { shared.ctx, shared.stop, shared.err = startBrowser(path, 3) }) //nolint:fatcontext // kept, and nested in none
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.ctx
}

func startBrowser(path string, tries int) (ctx context.Context, stop func(), err error) {
	// Root may not have a sandbox; what is opened here is ours.
	allocator, end := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		closeBrowser()
		end()
		if tries > 1 {
			return startBrowser(path, tries-1)
		}
		return nil, nil, err
	}
	return ctx, func() { closeBrowser(); end() }, nil
}

// tab is a page open in a browser, and what went wrong there.
type tab struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // it is the tab
	mu       sync.Mutex
	troubles []string
}

// window is how a tab looks at a page.
type window struct {
	width   int64
	theme   string // light or dark
	scripts bool
}

func (w window) String() string {
	return fmt.Sprintf("width=%d/%s/scripts=%t", w.width, w.theme, w.scripts)
}

// open shows the page of results in a tab of its own.
func open(t *testing.T, results report.Results, w window) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(written(t, results)), 0o600); err != nil {
		t.Fatal(err)
	}
	return openText(t, file, w)
}

func openText(t *testing.T, file string, w window) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	address := "file://" + file
	b.must(chromedp.Listen(ctx, func(event any) { b.note(event, address) }))
	b.resize(w.width)
	b.must(call(ctx, network.Enable, network.EnableParams{}))
	b.must(call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !w.scripts}))
	b.must(call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: w.theme}},
	}))
	b.must(chromedp.Do(ctx, chromedp.Navigate(address)))
	return b
}

// call runs a command of the protocol for its effect.
func call[P, R any](ctx context.Context, c cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(ctx, c, params)
	return err
}

// note keeps what a page should not do: fail, complain, or ask for anything
// but itself and the pictures it holds.
func (b *tab) note(event any, address string) {
	trouble := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		trouble = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			trouble += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		trouble = fmt.Sprintf("console.%s", e.Type)
	case *log.EventEntryAdded:
		trouble = fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; url != address && !strings.HasPrefix(url, "data:") {
			trouble = "request for " + url
		}
	}
	if trouble != "" {
		b.mu.Lock()
		b.troubles = append(b.troubles, trouble)
		b.mu.Unlock()
	}
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) resize(width int64) {
	b.t.Helper()
	b.must(call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 500,
	}))
}

// ask returns the value of an expression in the page.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	b.must(err)
	return value
}

// await waits until an expression is true.
func (b *tab) await(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(20*time.Second)))
	if err != nil {
		b.t.Fatalf("%v: %s", err, expression)
	}
}

// calm fails the test if anything went wrong in the tab.
func (b *tab) calm() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, trouble := range b.troubles {
		b.t.Error(trouble)
	}
}

// alive scrolls through the page, so that every chart comes alive, and waits
// until all have.
func (b *tab) alive() {
	b.t.Helper()
	ask[bool](b, `(async () => {
		for (const f of document.querySelectorAll('[data-figure]')) {
			f.scrollIntoView({behavior: 'instant'});
			for (let n = 0; n < 500 && !f.classList.contains('live'); n++) await new Promise((r) => setTimeout(r, 20));
		}
		return true;
	})()`)
	b.await(`document.querySelectorAll('[data-figure]').length === document.querySelectorAll('[data-figure].live').length`)
	b.await(`document.querySelectorAll('canvas[data-heat]:not([hidden])').length === document.querySelectorAll('canvas[data-heat]').length`)
}

// wide lists what sticks out of the window to the right, but for what lies in
// a box that scrolls.
const wide = `(() => {
	const root = document.documentElement, all = [];
	if (root.scrollWidth > root.clientWidth) all.push('the page scrolls sideways: ' + root.scrollWidth + ' > ' + root.clientWidth);
	for (const e of document.querySelectorAll('body *')) {
		const box = e.getBoundingClientRect();
		if (box.width && box.right > root.clientWidth + 0.5 && !e.closest('.scroll')) all.push(e.tagName + ' ' + (e.className.baseVal ?? e.className));
	}
	return all.join('; ');
})()`

// blank lists canvases of which all pixels are the same, and pictures that draw
// nothing in their plot.
const blank = `(() => {
	const all = [];
	for (const c of document.querySelectorAll('.uplot canvas, canvas[data-heat]')) {
		if (c.hidden) continue;
		const pixels = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
		if (pixels.every((p) => p === pixels[0])) all.push('blank canvas in ' + c.closest('section').id);
	}
	for (const s of document.querySelectorAll('svg.plot')) {
		const drawn = [...s.querySelectorAll('path')].filter((p) => p.getAttribute('d').length > 10);
		if (!drawn.length) all.push('blank picture in ' + s.closest('section').id);
	}
	return all.join('; ');
})()`

// everything is a result with which every section has something to show.
func everything(t *testing.T) report.Results {
	t.Helper()
	s := small()
	s.stay = true
	return s.results(t)
}

func TestPageInBrowser(t *testing.T) {
	chromium(t)
	for _, w := range []window{
		{1280, "light", true},
		{360, "light", true},
		{1280, "dark", true},
		{1280, "light", false},
		{360, "dark", false},
	} {
		t.Run(w.String(), func(t *testing.T) {
			b := open(t, everything(t), w)
			if w.scripts {
				b.alive()
				if got := ask[int](b, `document.querySelectorAll('.uplot canvas').length`); got < 10 {
					t.Errorf("%d live charts, want at least 10", got)
				}
			} else if got := ask[int](b, `document.querySelectorAll('[data-figure] .chart').length`); got < 10 {
				t.Errorf("%d pictures, want at least 10", got)
			}
			for _, check := range []string{wide, blank} {
				if found := ask[string](b, check); found != "" {
					t.Error(found)
				}
			}
			if found := ask[string](b, `[...document.querySelectorAll('section .none')].map((e) => e.textContent).join(' ')`); found != "" {
				t.Errorf("a section is empty: %s", found)
			}
			dark := ask[bool](b, `getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)'`)
			if dark != (w.theme == "dark") {
				t.Errorf("the page is dark: %t", dark)
			}
			b.calm()
		})
	}
}

// Names that are markup or scripts stay names, also where page.js writes them.
func TestHostileNamesInBrowser(t *testing.T) {
	chromium(t)
	for _, width := range []int64{360, 1280} {
		b := open(t, hostile(t), window{width, "light", true})
		b.alive()
		for _, check := range []string{wide, blank} {
			if found := ask[string](b, check); found != "" {
				t.Errorf("%d: %s", width, found)
			}
		}
		if n := ask[int](b, `document.querySelectorAll('.u-legend script, .u-legend img, .cell img, section b b, figcaption img').length`); n != 0 {
			t.Errorf("%d names became elements", n)
		}
		ask[bool](b, `(document.querySelector('canvas[data-heat]').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'})), true)`)
		b.await(`document.querySelector('[data-cell]').textContent.startsWith('</script><script>hacked()')`)
		b.calm()
	}
}

// look is the first heat map as it looks.
const look = `document.querySelector('canvas[data-heat]').toDataURL()`

// The slider, the cells, a legend, a chart's cursor and the theme, all by keys.
func TestPageByKeyboard(t *testing.T) {
	b := open(t, everything(t), window{1280, "light", true})
	b.alive()
	press := func(selector string, keys ...string) {
		t.Helper()
		ask[bool](b, fmt.Sprintf(`(document.querySelector(%q).focus(), document.activeElement === document.querySelector(%q))`, selector, selector))
		for _, k := range keys {
			b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(k)))
		}
	}
	last := ask[string](b, look)
	press("#moment", kb.ArrowLeft)
	if ask[string](b, `document.getElementById('moment').value`) != "2" || ask[string](b, look) == last {
		t.Error("an arrow on the slider changed nothing")
	}
	press("canvas[data-heat]", kb.ArrowRight, kb.ArrowRight)
	if got := ask[string](b, `document.querySelector('[data-cell]').textContent`); !strings.HasPrefix(got, "n2: ") {
		t.Errorf("the second cell is called %q", got)
	}
	press(".uplot .u-series:nth-child(2) th", kb.Enter)
	b.await(`document.querySelector('.uplot .u-series:nth-child(2) th').getAttribute('aria-pressed') === 'false'`)
	press(".uplot .u-over", kb.ArrowRight, kb.ArrowRight)
	b.await(`document.querySelector('.uplot .u-series .u-value').textContent !== '–'`)
	const marker = `getComputedStyle(document.querySelector('.uplot .u-series:nth-child(2) .u-marker')).borderTopColor`
	light := ask[string](b, marker)
	press("#theme", kb.Enter, kb.Enter)
	if ask[string](b, marker) == light {
		t.Error("the legend keeps the colours of the light theme")
	}
	if got := ask[string](b, `document.documentElement.dataset.theme`); got != "dark" {
		t.Errorf("the theme is %q, want dark", got)
	}
	b.await(`getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)'`)
	b.calm()
}

// How long a month takes to open is written down and not judged: it depends on
// the machine.
func TestMonthInBrowser(t *testing.T) {
	chromium(t)
	b := open(t, month().results(t), window{1280, "light", true})
	b.await(`performance.timing.loadEventEnd > 0`)
	t.Logf("loaded after %d ms", ask[int](b, `performance.timing.loadEventEnd - performance.timing.navigationStart`))
	// Charts come alive where they are seen, and what waits stands above them.
	b.await(`(document.querySelector('[data-figure]').scrollIntoView(), true)`)
	b.await(`document.querySelector('canvas[data-heat]:not([hidden])') !== null && document.querySelector('.uplot') !== null`)
	t.Logf("alive after %.0f ms", ask[float64](b, `performance.now()`))
	b.alive()
	for _, check := range []string{wide, blank} {
		if found := ask[string](b, check); found != "" {
			t.Error(found)
		}
	}
	b.calm()
}
