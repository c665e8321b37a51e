// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/fairlead-dev/fairlead/test/framework"
)

// patience is how long a page may take to show something.
const patience = 30 * time.Second

// tab is one of the browser, in which nothing may go wrong: no script fails, nothing is refused by the policy of the page, and
// nothing is asked of another server.
type tab struct {
	*testing.T
	ctx     context.Context
	address string
}

func newTab(t *testing.T, address string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(start(t))
	p := &tab{t, ctx, address}
	var mu sync.Mutex
	var wrong []string
	err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			wrong = append(wrong, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			wrong = append(wrong, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, address) {
				wrong = append(wrong, "a request to "+e.Request.URL)
			}
		}
	})
	t.Cleanup(func() {
		closeTab()
		mu.Lock()
		defer mu.Unlock()
		for _, text := range wrong {
			t.Error(text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call(p, log.Enable, cdp.Empty{})
	call(p, network.Enable, network.EnableParams{})
	call(p, runtime.Enable, cdp.Empty{})
	p.do(chromedp.EmulateViewport(1280, 800))
	return p
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	run(p, chromedp.Steps(actions...))
}

// run returns the value of an action, which may take as long as a page may.
func run[T any](p *tab, action chromedp.Action[T]) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		p.Fatal(err)
	}
	return value
}

// call sends a command of the protocol.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.Helper()
	return run(p, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, command, params) })
}

func (p *tab) colors(scheme string) {
	p.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// visit opens a page, and waits until it receives changes.
func (p *tab) visit(page string) {
	p.Helper()
	p.do(chromedp.Navigate(p.address + page))
	p.until(`document.getElementById("link").textContent === "Live"`)
}

// until waits until an expression is true, of the page that is open then.
func (p *tab) until(expression string) {
	p.Helper()
	err := framework.Eventually(p.ctx, patience, func(ctx context.Context) error {
		if is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression)); err != nil || is {
			return err
		}
		return errors.New("it is false")
	})
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
}

// value is that of an expression of a string.
func (p *tab) value(expression string) (text string) {
	p.Helper()
	return run(p, chromedp.Evaluate[string](expression))
}

// press presses a key until an expression is true, as someone who cannot see how often it takes.
func (p *tab) press(key, expression string) {
	p.Helper()
	for range 40 {
		p.do(chromedp.KeyEvent(key))
		if run(p, chromedp.Evaluate[bool](expression)) {
			return
		}
	}
	p.Fatalf("%s: after 40 keys the focus is on %s", expression, p.value(`document.activeElement.outerHTML.slice(0, 200)`))
}

// accessible runs all rules of axe.
func (p *tab) accessible(name string) {
	p.Helper()
	run(p, chromedp.Evaluate[int](axe(p.T)+"\n;0"))
	result := run(p, chromedp.Evaluate[struct {
		Passed     int      `json:"passed"`
		Violations []string `json:"violations"`
	}](`axe.run(document, {resultTypes: ["violations"]}).then((r) => ({passed: r.passes.length, violations: r.violations.map(
		(v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join("; "))}))`,
		chromedp.EvalAwaitPromise))
	if result.Passed < 15 {
		p.Errorf("%s: %d rules of axe passed: it looked at nothing", name, result.Passed)
	}
	for _, text := range result.Violations {
		p.Errorf("%s: %s", name, text)
	}
}
