// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Status is the outcome of one check.
type Status string

// A check that Failed names what does not work. A Warning is about what works, and should be looked at.
// Unchecked is what this user may not read, or what the API server did not answer. Skipped is what does not apply
// to this installation, or what only a user with more rights, or a pod of the cluster, can see.
const (
	OK        Status = "ok"
	Warning   Status = "warning"
	Failed    Status = "failed"
	Unchecked Status = "unchecked"
	Skipped   Status = "skipped"
)

// The checks, in the order in which they are made.
const (
	CheckDefinition  = "definition"
	CheckDeployment  = "deployment"
	CheckWebhooks    = "webhook-configuration"
	CheckCABundle    = "ca-bundle"
	CheckCertificate = "certificate"
	CheckDryRun      = "dry-run"
	CheckLease       = "lease"
	CheckRights      = "rights"
	CheckVersion     = "version"
)

// Result is the outcome of one check of one object.
type Result struct {
	// Check is one of the constants above.
	Check string `json:"check"`
	// Object is the kind and the name of what was checked.
	Object string `json:"object"`
	Status Status `json:"status"`
	// Message is what was found.
	Message string `json:"message"`
	// Remedy is what to do; empty where nothing is to be done.
	Remedy string `json:"remedy,omitempty"`
}

// String is one line.
func (r Result) String() string {
	line := string(r.Status) + ": " + r.Object + ": " + r.Message
	if r.Remedy != "" {
		line += "; " + r.Remedy
	}
	return strings.Join(strings.Fields(line), " ")
}

// Report is the outcome of all checks.
type Report struct {
	// Namespace is that of the operator; empty where it was not found.
	Namespace string `json:"namespace,omitempty"`
	// Kinds are those that the operator has, in words; empty where it was not found.
	Kinds   string   `json:"kinds,omitempty"`
	Results []Result `json:"results"`
}

// Count returns how many results have the status.
func (r Report) Count(status Status) int {
	n := 0
	for _, one := range r.Results {
		if one.Status == status {
			n++
		}
	}
	return n
}

// formatVersion changes when a field of the JSON changes its meaning or goes away.
const formatVersion = 1

// Document is a Report as it is printed for programs.
type Document struct {
	Version int            `json:"version"`
	Summary map[Status]int `json:"summary"`
	Report
}

// Document returns the report with how many results have each status.
func (r Report) Document() Document {
	summary := map[Status]int{}
	for _, status := range []Status{OK, Warning, Failed, Unchecked, Skipped} {
		summary[status] = r.Count(status)
	}
	return Document{formatVersion, summary, r}
}

// WriteText writes a line for each result, and one that counts them.
func (r Report) WriteText(to io.Writer) error {
	for _, one := range r.Results {
		if _, err := fmt.Fprintln(to, one); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%d checks: %d ok, %d warnings, %d failed, %d unchecked, %d skipped",
		len(r.Results), r.Count(OK), r.Count(Warning), r.Count(Failed), r.Count(Unchecked), r.Count(Skipped))
	if r.Namespace != "" {
		line += "; the operator is in namespace " + r.Namespace
	}
	if r.Kinds != "" {
		line += ", for " + r.Kinds
	}
	_, err := fmt.Fprintln(to, line)
	return err
}

// unread is the result for what could not be read. missing says what it means that the object is not there.
func unread(check, object, right string, err error, missing string) Result {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return Result{check, object, Unchecked, "you have no permission to read it", "grant " + right}
	case apierrors.IsNotFound(err):
		return Result{check, object, Failed, "it does not exist", missing}
	}
	return Result{check, object, Unchecked, "it could not be read: " + brief(err), ""}
}

// brief is the text of an error, on one line and bounded.
func brief(err error) string {
	const most = 500
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
