// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var update = flag.Bool("update", false, "write the pictures of the documentation")

const database = "?object=ExternalService/shop/orders-db"

var pages = []string{"", database, "?object=RebootPolicy/shop/login", "?filter=none", "graph", "graph" + database, "timeline"}

func TestEachPageIsAccessible(t *testing.T) {
	_, s := newTest(t)
	p := newTab(t, s.address)
	for _, scheme := range []string{"light", "dark"} {
		p.colors(scheme)
		for _, width := range []int64{1280, 390} {
			p.do(chromedp.EmulateViewport(width, 800))
			for _, address := range pages {
				p.visit(address)
				p.accessible(scheme + " " + address)
				if wide := p.value(`document.documentElement.scrollWidth > innerWidth ? "wider" : ""`); wide != "" {
					t.Errorf("%q is wider than a window of %d pixels", address, width)
				}
			}
		}
	}
}

func TestAnObjectIsFoundByTheKeyboard(t *testing.T) {
	_, s := newTest(t)
	p := newTab(t, s.address)
	p.visit("")
	p.press(kb.Tab, `document.activeElement.role === "treeitem"`)
	p.press(kb.ArrowDown, `document.activeElement.id.startsWith("RebootPolicy/shop/login")`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until(`document.getElementById("why-title").textContent.startsWith("Why RebootPolicy shop/login is")`)
	p.until(`document.getElementById("said").textContent.startsWith("Why RebootPolicy shop/login is")`) // is read out
	if at := p.value("document.activeElement.id + location.search"); at != "RebootPolicy/shop/login/0?object=RebootPolicy%2Fshop%2Flogin" {
		t.Errorf("the focus and the address are at %s", at)
	}
	p.do(chromedp.KeyEvent(kb.Home))
	p.until(`document.activeElement === document.querySelector("[role=treeitem]")`)
	p.do(chromedp.NavigateBack())
	p.until(`document.getElementById("why-title").textContent === "Why"`)

	p.visit("graph")
	p.press(kb.Tab, `document.activeElement.classList.contains("node") && document.activeElement.title.startsWith("ExternalService shop/orders-db")`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until(`document.getElementById("why-title")?.textContent.startsWith("Why ExternalService shop/orders-db is")`)
}

// What changes is shown without loading the page: it keeps the focus and what is typed.
func TestAPageShowsAChangeAtOnce(t *testing.T) {
	test, s := newTest(t)
	p := newTab(t, s.address)
	p.visit("?object=Deployment/shop/worker")
	p.do(chromedp.SendKeys(chromedp.CSS("#filter"), "typed"))
	p.value(`window.isKept = "yes"`)
	for _, replicas := range []string{"0", "2"} {
		test.Kubectl("scale", "-n", "shop", "deployment/worker", "--replicas="+replicas)
		if replicas == "0" {
			p.until(`document.getElementById("why-title").textContent.endsWith("is Suspended")`)
		} else {
			p.until(`document.getElementById("why-title").textContent.endsWith("is Healthy")`)
		}
	}
	if kept := p.value(`[window.isKept, document.activeElement.id, document.getElementById("filter").value].join()`); kept != "yes,filter,typed" {
		t.Errorf("kept %s", kept)
	}
}

// No node of the drawing is on another, and each arrow is between two of them.
func TestTheGraphIsDrawn(t *testing.T) {
	_, s := newTest(t)
	p := newTab(t, s.address)
	for _, address := range []string{"graph", "graph" + database} {
		p.visit(address)
		if wrong := p.value(`(() => {
			const boxes = [...document.querySelectorAll("foreignObject")].map((n) => n.getBoundingClientRect());
			const drawing = document.querySelector(".drawing svg").getBoundingClientRect();
			if (boxes.length < 6 || document.querySelectorAll(".arrow").length < 6) return "too little is drawn";
			for (const [i, a] of boxes.entries()) {
				if (a.left < drawing.left || a.right > drawing.right || a.top < drawing.top || a.bottom > drawing.bottom) return "a node is outside";
				if (boxes.some((b, j) => i !== j && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)) return "nodes overlap";
			}
			for (const b of document.querySelectorAll(".node .health")) if (b.scrollWidth > b.clientWidth && b.clientWidth) return b.textContent + " is cut";
			return "";
		})()`); wrong != "" {
			t.Errorf("%s: %s", address, wrong)
		}
	}
	if fits := p.value(`(() => { const d = document.querySelector(".drawing"); return d.scrollWidth > d.clientWidth ? "no" : "yes"; })()`); fits != "yes" {
		t.Error("three columns do not fit into a window of 1280 pixels")
	}
}

// mostDifferent is how much of a picture may be another one: times, and the fonts of a machine.
const mostDifferent = 0.05

// The pictures of the documentation are of what is served now; -update writes them.
func TestThePicturesShowThePages(t *testing.T) {
	_, s := newTest(t)
	p := newTab(t, s.address)
	for name, address := range map[string]string{"ui-graph.png": "graph" + database, "ui-timeline.png": "timeline"} {
		p.visit(address)
		raw := run(p, chromedp.CaptureScreenshot())
		file := filepath.Join(framework.Root, "docs", "images", name)
		if *update {
			if err := os.WriteFile(file, raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v: write the pictures with -update", err)
		}
		if share := difference(t, raw, kept); share > mostDifferent {
			t.Errorf("%.0f %% of %s is another one than the page shows: write it with -update", 100*share, name)
		}
	}
}

// difference returns the share of the pixels that differ between two pictures; 1 where their sizes do.
func difference(t *testing.T, one, other []byte) float64 {
	t.Helper()
	a, err := png.Decode(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	b, err := png.Decode(bytes.NewReader(other))
	if err != nil {
		t.Fatal(err)
	}
	if a.Bounds() != b.Bounds() {
		return 1
	}
	differ, size := 0, a.Bounds()
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				differ++
			}
		}
	}
	return float64(differ) / float64(size.Dx()*size.Dy())
}
