// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"os"
	"testing"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(4)
	open  = framework.Shared(func() (*framework.Cluster, error) { return tests.Open(framework.Options{}) })
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// suite is a test with a CRD of its own.
type suite struct {
	framework.Test
	crds   apiextensionsclient.CustomResourceDefinitionInterface
	plural string
}

// newSuite makes no CRD yet; kinds of different tests have different names.
func newSuite(t *testing.T, plural string) *suite {
	t.Helper()
	return suiteOn(t, open(t), plural)
}

func suiteOn(t *testing.T, c *framework.Cluster, plural string) *suite {
	t.Helper()
	s := &suite{Test: framework.Test{T: t, Cluster: c, Patience: 8 * time.Minute}, plural: plural}
	client, err := apiextensionsclient.NewForConfig(c.Config)
	s.Must(err)
	s.crds = client.CustomResourceDefinitions()
	return s
}
