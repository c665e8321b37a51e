// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// The types are the part of SARIF 2.1.0 that is used here.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
	ColumnKind  string            `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	Name             string    `json:"name"`
	ShortDescription sarifText `json:"shortDescription"`
	HelpURI          string    `json:"helpUri"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	ExecutionSuccessful        bool                `json:"executionSuccessful"`
	ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	PhysicalLocation sarifPhysical  `json:"physicalLocation"`
	LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
}

type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
	Kind               string `json:"kind"`
}

// sarif gathers a run.
type sarif struct {
	to     io.Writer
	run    sarifRun
	checks []vet.Check
}

func newSARIF(to io.Writer, version string) *sarif {
	s := &sarif{to: to, checks: vet.Checks()}
	driver := sarifDriver{Name: "fairlead vet", Version: version, InformationURI: "https://github.com/fairlead-dev/fairlead"}
	for _, c := range s.checks {
		driver.Rules = append(driver.Rules, sarifRule{c.ID, string(c.Rule), sarifText{c.Text}, c.Page()})
	}
	s.run = sarifRun{Tool: sarifTool{driver}, Results: []sarifResult{}, ColumnKind: "unicodeCodePoints"}
	return s
}

func (s *sarif) Object(o vet.Object) error {
	for i := range o.Findings {
		f := &o.Findings[i]
		said := o.Label()
		if f.Field != "" {
			said += ": " + f.Field
		}
		location := sarifLocation{PhysicalLocation: sarifPhysical{ArtifactLocation: sarifArtifact{uri(o.File)}}}
		if f.Line > 0 {
			location.PhysicalLocation.Region = &sarifRegion{f.Line, f.Column}
		}
		if o.Kind != "" {
			name := strings.TrimSuffix(o.Label()+"/"+f.Field, "/")
			location.LogicalLocations = []sarifLogical{{name, "object"}}
		}
		s.run.Results = append(s.run.Results, sarifResult{
			RuleID:    f.ID,
			RuleIndex: slices.IndexFunc(s.checks, func(c vet.Check) bool { return c.ID == f.ID }),
			Level:     string(f.Severity),
			Message:   sarifText{said + ": " + f.Message},
			Locations: []sarifLocation{location},
		})
	}
	return nil
}

func (s *sarif) End(_ vet.Summary, unread error) error {
	invocation := sarifInvocation{ExecutionSuccessful: unread == nil}
	if unread != nil {
		invocation.ToolExecutionNotifications = []sarifNotification{{"error", sarifText{unread.Error()}}}
	}
	s.run.Invocations = []sarifInvocation{invocation}
	return encode(s.to, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{s.run},
	})
}

// uri returns a reference to a file, relative where its name is.
func uri(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}
