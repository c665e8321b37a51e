// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// formatVersion changes when a field of the JSON changes its meaning or goes away.
const formatVersion = 1

// document is the JSON of all findings.
type document struct {
	to       io.Writer
	findings []finding
}

type finding struct {
	File       string `json:"file"`
	Document   int    `json:"document"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	vet.Finding
}

func (d *document) Object(o vet.Object) error {
	for _, f := range o.Findings {
		d.findings = append(d.findings, finding{o.File, o.Document, o.APIVersion, o.Kind, o.Namespace, o.Name, f})
	}
	return nil
}

func (d *document) End(s vet.Summary, unread error) error {
	out := struct {
		Version  int         `json:"version"`
		Summary  vet.Summary `json:"summary"`
		Unread   string      `json:"unread,omitempty"`
		Findings []finding   `json:"findings"`
	}{Version: formatVersion, Summary: s, Findings: d.findings}
	if unread != nil {
		out.Unread = unread.Error()
	}
	if out.Findings == nil {
		out.Findings = []finding{}
	}
	return encode(d.to, out)
}

func encode(to io.Writer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
