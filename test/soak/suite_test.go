// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the client library
	os.Exit(m.Run())
}
