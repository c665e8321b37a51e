// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestTextCarriesNothingThatATerminalObeys(t *testing.T) {
	var got strings.Builder
	err := printable(&got, func(to io.Writer) error {
		_, err := io.WriteString(to, "a\tb\x1b]0;title\x07\r\u009b2J\u202eevil\u202c \xffé\n")
		return err
	})
	if want := "a\tb]0;title2Jevil \uFFFDé\n"; err != nil || got.String() != want {
		t.Errorf("%q, %v, want %q", got.String(), err, want)
	}
	if err := printable(&got, func(io.Writer) error { return errors.New("full") }); err == nil {
		t.Error("an error is lost")
	}
}
