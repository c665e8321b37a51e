// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// measured is the page that the results of the soak test and of the benchmark are committed in.
const measured = "docs/reference/performance.md"

// orderly are the rows of the soak test in which no process is killed and no network fails.
var orderly = []string{"leaf rotation", "CA rotation", "cert-manager renewal", "rolling update", "leader SIGTERM"}

// forUsers are the rows of the benchmark that README.md repeats.
var forUsers = []string{
	"SIGTERM of the leader, until another replica reconciles",
	"a first list of 2,000 ExternalServices at `v1alpha1`",
	"memory for 50,000 suspended ExternalServices",
	"50,000 addresses checked by TCP every 10 s",
	"4,000 Secrets of 1,000 Deployments change: until each is restarted once and verified",
}

// README.md has the figures that are committed.
func TestTheReadmeHasTheFiguresThatWereMeasured(t *testing.T) {
	sent, failed := map[string]int{}, map[string]int{}
	for _, row := range tableIn(t, measured, "## Requests lost") {
		sent[row[0]], failed[row[0]] = number(t, row[1]), number(t, row[2])
	}
	total := func(counts map[string]int, rows ...string) (sum int) {
		for _, row := range rows {
			count, found := counts[row]
			if !found {
				t.Errorf("%s has no row %q", measured, row)
			}
			sum += count
		}
		return sum
	}
	var all []string
	for row := range sent {
		all = append(all, row)
	}
	lines := []string{
		fmt.Sprintf("| requests lost while certificates are renewed, the root is replaced, replicas are updated and the leader stops | %d of %s | |",
			total(failed, orderly...), grouped(total(sent, orderly...))),
		fmt.Sprintf("| requests lost in all %d disturbances of the soak test, with SIGKILL and failed networks | %d of %s | |",
			len(all), total(failed, all...), grouped(total(sent, all...))),
	}
	figures := map[string][]string{}
	for _, row := range tableIn(t, measured, "# Performance") {
		figures[row[0]] = row
	}
	for _, name := range forUsers {
		row := figures[name]
		if len(row) != 4 {
			t.Fatalf("%s has no row %q of four columns", measured, name)
		}
		beside := strings.Trim(row[2]+"; "+row[3], "; ")
		lines = append(lines, fmt.Sprintf("| %s | %s | %s |", row[0], row[1], beside))
	}
	want := strings.ReplaceAll(strings.Join(lines, "\n"), "|  |", "| |")
	readme := read(t, "README.md")
	const head = "## Measured\n\n| measure | Fairlead | compared with |\n| --- | --- | --- |\n"
	before, rest, found := strings.Cut(readme, head)
	table, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("README.md has no %q", head)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(repository(t), "README.md"), []byte(before+head+want+"\n\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
		table = want
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("README.md differs from %s; run in test: go test ./repo -run Figures -update (-measured +README.md):\n%s", measured, diff)
	}
	authority := fmt.Sprintf("%d of %s requests failed", failed["CA rotation"], grouped(sent["CA rotation"]))
	if !strings.Contains(read(t, "docs/reference/comparison.md"), authority) {
		t.Errorf("docs/reference/comparison.md does not say %q", authority)
	}
}

// tableIn returns the cells of the first table after a heading, without the first two lines.
func tableIn(t *testing.T, page, after string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(read(t, page), after+"\n")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if !found || len(rows) < 3 {
		t.Fatalf("%s has no table under %q", page, after)
	}
	return rows[2:]
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// grouped writes a number as the pages do, such as 20,013.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
