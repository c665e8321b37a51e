// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs the tests of a package, so many at a time, and then what ends all that they shared. It returns
// the exit code. Tests mostly wait, so that processors do not limit them; the flag -parallel has the last
// word.
func Main(m *testing.M, parallel int, end func() error) int {
	log.SetLogger(logr.Discard()) // of the client library; the operator's own is read from its file
	// Before the flags are parsed.
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
