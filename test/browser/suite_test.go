// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(1)
	axe   = framework.Shared(readAxe)
	start = framework.Shared(startBrowser)
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// startBrowser starts a headless browser, which ends with the tests. The context is of its first tab.
func startBrowser() (context.Context, error) {
	program, err := findBrowser()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "fairlead-browser-")
	if err != nil {
		return nil, err
	}
	// What a browser asks others for by itself is off.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(time.Minute))
	allocated, end := chromedp.NewExecAllocator(tests.Context, options...)
	tab, closeTab := chromedp.NewContext(allocated)
	tests.AtEnd(func() error {
		closeTab()
		end()
		return os.RemoveAll(profile)
	})
	return tab, chromedp.Do(tab)
}

func findBrowser() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome", "chrome"}
	if named := os.Getenv("FAIRLEAD_BROWSER"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("none of %s is in PATH: install Chromium or Chrome, or name one by FAIRLEAD_BROWSER", strings.Join(names, ", "))
}

// readAxe returns the script of axe-core, which make test-browser gets.
func readAxe() (string, error) {
	raw, err := os.ReadFile(filepath.Join(framework.Root, "bin", "axe", "package", "axe.min.js"))
	if err != nil {
		err = fmt.Errorf("%w: make test-browser gets it", err)
	}
	return string(raw), err
}
