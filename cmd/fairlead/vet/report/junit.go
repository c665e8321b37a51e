// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// junit gathers a test suite for each file, with a test case for each object.
type junit struct {
	to     io.Writer
	strict bool
	suites []junitSuite
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string         `xml:"name,attr"`
	ClassName string         `xml:"classname,attr"`
	File      string         `xml:"file,attr,omitempty"`
	Line      int            `xml:"line,attr,omitempty"`
	Failure   *junitFailure  `xml:"failure"`
	Error     *junitFailure  `xml:"error"`
	Out       *junitVerbatim `xml:"system-out"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitVerbatim struct {
	Text string `xml:",chardata"`
}

func (j *junit) Object(o vet.Object) error {
	if n := len(j.suites); n == 0 || j.suites[n-1].Name != o.File {
		j.suites = append(j.suites, junitSuite{Name: o.File})
	}
	suite := &j.suites[len(j.suites)-1]
	name := o.Label()
	if o.Name == "" {
		name = fmt.Sprintf("%s %d", name, o.Document)
	}
	test := junitCase{Name: name, ClassName: o.File, File: o.File, Line: o.Line}
	var failed, said []string
	for i := range o.Findings {
		f := &o.Findings[i]
		line := fmt.Sprintf("%s: %s: ", location(o.File, f), f.Severity)
		if f.Field != "" {
			line += f.Field + ": "
		}
		line += f.Message
		if f.Severity == vet.Error || j.strict {
			if len(failed) == 0 {
				test.Failure = &junitFailure{Type: f.ID, Message: strings.TrimPrefix(f.Field+": "+f.Message, ": ")}
			}
			failed = append(failed, line)
			continue
		}
		said = append(said, line)
	}
	suite.Tests++
	if test.Failure != nil {
		suite.Failures++
		test.Failure.Text = strings.Join(failed, "\n")
	}
	if len(said) > 0 {
		test.Out = &junitVerbatim{strings.Join(said, "\n")}
	}
	suite.Cases = append(suite.Cases, test)
	return nil
}

func (j *junit) End(_ vet.Summary, unread error) error {
	if unread != nil {
		j.suites = append(j.suites, junitSuite{Name: "input", Tests: 1, Errors: 1, Cases: []junitCase{{
			Name: "read", ClassName: "input", Error: &junitFailure{Type: "unread", Message: "not all of the input could be read",
				Text: unread.Error()},
		}}})
	}
	all := junitSuites{Name: "fairlead vet", Suites: j.suites}
	for _, s := range j.suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	if _, err := io.WriteString(j.to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(j.to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(j.to, "\n")
	return err
}
