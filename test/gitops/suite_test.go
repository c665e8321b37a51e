// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// root of the checkout.
	root = "../.."
	// patience is how long a condition may take. The machine may be a busy one.
	patience = 3 * time.Minute
)

var resources = map[string]schema.GroupResource{
	"ExternalService": {Group: "networking.fairlead.dev", Resource: "externalservices"},
	"RebootPolicy":    {Group: "autoreboot.fairlead.dev", Resource: "rebootpolicies"},
	"ChaosPod":        {Group: "chaos.fairlead.dev", Resource: "chaospods"},
}

// shared is what all tests share: a control plane, and one replica that serves webhooks and reconciles
// nothing.
type shared struct {
	*framework.Cluster
	servers    *externalnet.Servers
	client     dynamic.Interface
	reconciler *framework.Replica // nil while none runs
}

var (
	ctx, cancel = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	open        = sync.OnceValues(start)
	opened      *shared
)

// Tests run one after another, since some need that nothing reconciles.
func TestMain(m *testing.M) { os.Exit(framework.Main(m, 1, end)) }

func end() error {
	defer cancel()
	if opened == nil {
		return nil
	}
	var err error
	if opened.Cluster != nil {
		err = opened.Close()
	}
	return errors.Join(err, opened.servers.Close())
}

func start() (*shared, error) {
	servers, err := externalnet.Open() // nothing leaves this host
	if err != nil {
		return nil, err
	}
	opened = &shared{servers: servers}
	if opened.Cluster, err = framework.Open(ctx, framework.Options{Root: root, Output: os.Stderr, Operator: framework.Outside}); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", opened.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if opened.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if _, err = opened.StartReplica(ctx, "--controllers=false"); err != nil {
		return nil, err
	}
	return opened, opened.Reachable(ctx)
}

// suite is what a test has of it: a namespace of its own. Tests run one after another, since some need that nothing
// reconciles.
type suite struct {
	*testing.T
	*shared
	namespace string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	opened, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, shared: opened}
	s.namespace = "default"
	s.namespace = strings.TrimPrefix(strings.TrimSpace(s.kubectl(`{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"t-"}}`, "create", "-o", "name", "-f", "-")), "namespace/")
	return s
}

// reconcile starts a replica that reconciles, if none does.
func (s *suite) reconcile() {
	s.Helper()
	if s.reconciler != nil {
		return
	}
	replica, err := s.Launch(s.Context(), "--dns-nameservers="+s.servers.DNS.Addr().String(),
		"--leader-elect-lease-duration=240s", "--leader-elect-renew-deadline=200s")
	s.must(err)
	s.reconciler = replica
	s.eventually(replica.Started)
}

// pause stops the replica that reconciles, if one does.
func (s *suite) pause() {
	s.Helper()
	if s.reconciler != nil {
		s.reconciler.Stop()
		s.reconciler = nil
	}
}

// kubectl runs kubectl with a standard input, and returns its output.
func (s *suite) kubectl(stdin string, args ...string) string {
	s.Helper()
	out, err := s.try(stdin, args...)
	s.must(err)
	return out
}

func (s *suite) try(stdin string, args ...string) (string, error) {
	out, problems, err := s.KubectlIn(s.Context(), s.namespace, stdin, args...)
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s%s", strings.Join(args, " "), err, out, problems)
	}
	return out, err
}

// at are the objects of a kind at a version.
func (s *suite) at(kind, version string) dynamic.ResourceInterface {
	return s.client.Resource(resources[kind].WithVersion(version)).Namespace(s.namespace)
}

// get reads the object that a manifest is about, at a version.
func (s *suite) get(manifest *unstructured.Unstructured, version string) *unstructured.Unstructured {
	s.Helper()
	live, err := s.at(manifest.GetKind(), version).Get(s.Context(), manifest.GetName(), metav1.GetOptions{})
	s.must(err)
	return live
}

func (s *suite) eventually(ask func(context.Context) error) {
	s.Helper()
	s.must(framework.Eventually(s.Context(), patience, ask))
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// documents are the objects of Fairlead's kinds in a stream of YAML. What is no object is left out.
func documents(text string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if _, ours := resources[object.GetKind()]; ours {
			found = append(found, object)
		}
	}
}

// manifest parses one object, and puts it into the namespace.
func (s *suite) manifest(kind, version, name, spec string) *unstructured.Unstructured {
	s.Helper()
	all, err := documents(fmt.Sprintf("{apiVersion: %s/%s, kind: %s, metadata: {name: %s, namespace: %s}, spec: %s}",
		resources[kind].Group, version, kind, name, s.namespace, spec))
	s.must(err)
	return all[0]
}
