// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures what Fairlead's conversion and admission handlers cost per object, beside
// the stock handlers of the controller-runtime in go.mod, in one run.
//
// Both sides get the same bodies, as an API server writes them, and run the same rules and the same
// mappings; every case is checked to be answered alike before it is timed. Where the two differ,
// it is in favor of the stock side: it counts no metrics.
//
// That measures handlers only. TLS, HTTP and the API server's own encoding come on top, the same for
// both, and are most of what a webhook call costs a user: RunLists shows how much, by a LIST through a
// real API server whose caches are cold.
//
// Ring 3: its tests are of the measurements themselves.
package bench
