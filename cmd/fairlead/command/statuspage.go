// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	_ "embed"
	"io"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/webpage"
)

//go:embed status.html
var statusContent string

var statusPage = webpage.New(statusContent)

// healthCount is how many objects have a health.
type healthCount struct {
	Health inspect.Health
	Count  int
}

// writeStatusPage writes the trees as one page that needs nothing else.
func writeStatusPage(to io.Writer, status *inspect.Status, now time.Time) error {
	var counts []healthCount
	all := status.Counts()
	for _, h := range inspect.Healths {
		if all[h] > 0 {
			counts = append(counts, healthCount{h, all[h]})
		}
	}
	return statusPage.Write(to, &webpage.Data{Title: "Objects of Fairlead and their health", Unread: status.Unread, Content: struct {
		Counts []healthCount
		Made   string
		Trees  []inspect.Branch
	}{counts, now.UTC().Format(time.RFC3339), status.Trees}})
}
