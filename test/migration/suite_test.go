// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// patience is how long a condition may take. The machine may be a busy one.
const patience = 8 * time.Minute

var (
	// suiteContext is the context of everything: the cluster lives as long as it does.
	suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openCluster)
	opened struct {
		sync.Mutex
		cluster *framework.Cluster
	}
)

func TestMain(m *testing.M) { os.Exit(framework.Main(m, 4, end)) }

func end() error {
	defer closing()
	opened.Lock()
	defer opened.Unlock()
	if opened.cluster == nil {
		return nil
	}
	return opened.cluster.Close()
}

func openCluster() (*framework.Cluster, error) {
	s, err := framework.Open(suiteContext, framework.Options{Root: root, Output: os.Stderr})
	if err != nil {
		return nil, err
	}
	opened.Lock()
	opened.cluster = s
	opened.Unlock()
	return s, nil
}

// suite is a test with a CRD of its own.
type suite struct {
	*testing.T
	*framework.Cluster
	config *rest.Config
	crds   apiextensionsclient.CustomResourceDefinitionInterface
	plural string
}

// newSuite makes no CRD yet; kinds of different tests have different names.
func newSuite(t *testing.T, plural string) *suite {
	t.Helper()
	st, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return suiteOn(t, st, plural)
}

func suiteOn(t *testing.T, st *framework.Cluster, plural string) *suite {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", st.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // the load would be told of itself thousands of times
	client, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &suite{T: t, Cluster: st, config: config, crds: client.CustomResourceDefinitions(), plural: plural}
}
