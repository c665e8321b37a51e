// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"os"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestMain(m *testing.M) { os.Exit(framework.Main(m, 8, func() error { return nil })) }
