// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser opens the pages of fairlead ui in Chromium, against a real control plane with an operator.
//
// It needs a Chromium or a Chrome, the one that FAIRLEAD_BROWSER names or the first of the usual names in PATH, and axe-core, whose
// rules of accessibility each page has to pass.
//
// A ring of its own, `make test-browser`: it takes Chromium.
package browser
