// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package reloader

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Result is the result of one suite.
type Result struct {
	Suite string
	// Passed and Skipped are how many specs did, and Pending those that the suite itself switches off.
	Passed, Skipped, Pending int
	Failed                   []Failure
	// Argo counts those of Rollouts among all that ran, and ArgoFailed among those that failed.
	Argo, ArgoFailed int
	Took             time.Duration
}

// Failure is one spec that failed.
type Failure struct{ Spec, Why string }

// report holds the fields of a Ginkgo report that are read.
type report struct {
	SpecReports []struct {
		ContainerHierarchyTexts  []string
		ContainerHierarchyLabels [][]string
		LeafNodeType             string
		LeafNodeText             string
		LeafNodeLabels           []string
		State                    string
		Failure                  struct{ Message string }
	}
}

// read reads the report of a suite.
func read(path, suite string) (Result, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the harness has it written
	if err != nil {
		return Result{}, err
	}
	return parse(content, suite)
}

func parse(content []byte, suite string) (Result, error) {
	var reports []report
	if err := json.Unmarshal(content, &reports); err != nil {
		return Result{}, err
	}
	result := Result{Suite: suite}
	for _, r := range reports {
		for i := range r.SpecReports {
			spec := &r.SpecReports[i]
			failed := spec.State != "passed" && spec.State != "skipped" && spec.State != "pending"
			if spec.LeafNodeType != "It" {
				if failed { // such as BeforeSuite
					result.Failed = append(result.Failed, Failure{spec.LeafNodeType, firstLine(spec.Failure.Message)})
				}
				continue
			}
			argo := slices.Contains(slices.Concat(append(spec.ContainerHierarchyLabels, spec.LeafNodeLabels)...), "argo")
			switch spec.State {
			case "passed":
				result.Passed++
			case "skipped":
				result.Skipped++
			case "pending":
				result.Pending++
			default:
				name := strings.Join(append(slices.Clone(spec.ContainerHierarchyTexts), spec.LeafNodeText), ": ")
				result.Failed = append(result.Failed, Failure{name, firstLine(spec.Failure.Message)})
			}
			if argo && (failed || spec.State == "passed") {
				result.Argo++
			}
			if argo && failed {
				result.ArgoFailed++
			}
		}
	}
	if result.Passed+len(result.Failed) == 0 {
		return result, errors.New("no spec ran")
	}
	return result, nil
}

// firstLine returns the first line of a text, and the next one where the first only announces it.
func firstLine(text string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasSuffix(line, ":") && rest != "" {
		return line + " " + firstLine(rest)
	}
	return line
}

// Write writes the table of all suites, and below it what failed.
func Write(to io.Writer, results []Result) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = fmt.Fprintf(table, "%v\t%v\t%v\t%v\t%v\n", cells...) }
	row("suite", "specs", "passed", "failed", "took")
	ran, passed := 0, 0
	for _, r := range results {
		total := r.Passed + len(r.Failed)
		ran, passed = ran+total, passed+r.Passed
		row(r.Suite, total, r.Passed, len(r.Failed), r.Took.Round(time.Second))
		if r.Argo > 0 && r.Argo < total {
			row("  of Rollouts", r.Argo, r.Argo-r.ArgoFailed, r.ArgoFailed, "")
		}
	}
	row("all", ran, passed, ran-passed, "")
	if err := table.Flush(); err != nil {
		return err
	}
	var problem error
	for _, r := range results {
		for _, f := range r.Failed {
			_, err := fmt.Fprintf(to, "\n%s: %s\n    %s\n", r.Suite, f.Spec, f.Why)
			problem = errors.Join(problem, err)
		}
	}
	return problem
}
