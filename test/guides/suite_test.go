// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"os"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var tests = framework.NewTests(8)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }
