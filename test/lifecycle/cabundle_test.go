// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// healing is how long a lost CA bundle may be away on a busy machine. Without a watch it is noticed after
// five minutes.
const healing = time.Minute

// healed waits until every place has the bundle, and returns how long that took.
func (s *suite) healed(want []byte) time.Duration {
	s.Helper()
	began := time.Now()
	s.Eventually(func() error {
		for _, resource := range trusted {
			for _, name := range resource.names {
				object, err := s.Dynamic.Resource(resource.resource).Get(s.Context(), name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				for path, bundle := range s.bundles(object.Object, name, map[string][]byte{}) {
					if !bytes.Equal(bundle, want) {
						return fmt.Errorf("%s has %d bytes of another bundle", path, len(bundle))
					}
				}
			}
		}
		return nil
	})
	return time.Since(began)
}

// degraded waits until /readyz tells of every part, with status 200.
func (r *replica) degraded(parts ...string) {
	r.suite.Helper()
	r.suite.Eventually(func() error {
		body, err := r.Probe(r.suite.Context(), "/readyz")
		if err != nil {
			return err
		}
		return framework.Holds(body, append(parts, "ok\n", "degraded: ")...)
	})
}

func TestALostCABundleIsBackWithinSeconds(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r, other := s.start(), s.start()
	for _, one := range []*replica{r, other} {
		one.reaches("ca-published", "done")
	}
	good := s.bundle(framework.Definitions[0])
	foreign := base64.StdEncoding.EncodeToString([]byte(s.issue(time.Hour).ca))
	const inWebhook, inDefinition = "/webhooks/0/clientConfig/caBundle", "/spec/conversion/webhook/clientConfig/caBundle"

	for _, c := range []struct{ title, kind, name, patch, by string }{
		{"taken from a webhook", "validatingwebhookconfiguration", framework.WebhookConfigurations[0], `[{"op":"remove","path":"` + inWebhook + `"}]`, "unknown writer"},
		{"taken from a CRD", "crd", framework.Definitions[0], `[{"op":"remove","path":"` + inDefinition + `"}]`, "unknown writer"},
		{"overwritten in a webhook", "mutatingwebhookconfiguration", framework.WebhookConfigurations[3], `[{"op":"replace","path":"` + inWebhook + `","value":"` + foreign + `"}]`, "kubectl-patch"},
		{"overwritten in a CRD", "crd", framework.Definitions[1], `[{"op":"replace","path":"` + inDefinition + `","value":"` + foreign + `"}]`, "kubectl-patch"},
	} {
		t.Run(c.title, func(t *testing.T) {
			s := s.in(t)
			before := s.generations()[kindOf(c.kind)+" "+c.name]
			s.Kubectl("patch", c.kind, c.name, "--type=json", "-p", c.patch)
			took := s.healed(good)
			t.Logf("healed after %s", took)
			if took > healing {
				t.Errorf("healed after %s", took)
			}
			if written := s.generations()[kindOf(c.kind)+" "+c.name] - before; written != 2 {
				t.Errorf("written %d times, want the loss and the healing", written)
			}
			s.Eventually(func() error {
				return framework.Holds(s.Kubectl("get", "events", "-n", "default", "-o", "wide"), "CABundleLost", c.name, c.by)
			})
		})
	}

	for _, c := range []struct {
		title string
		kind  string
		names []string
	}{
		{"webhook configurations deleted and installed again", "mutatingwebhookconfiguration,validatingwebhookconfiguration", framework.WebhookConfigurations},
		{"CRDs deleted and installed again", "crd", framework.Definitions},
	} {
		t.Run(c.title, func(t *testing.T) {
			s := s.in(t)
			r := &replica{r.Replica, s}
			s.Kubectl(append([]string{"delete", c.kind}, c.names...)...)
			r.degraded(c.names...)
			if got := r.mustMetric(`fairlead_ca_bundle_present{target="` + c.names[0] + `",target_kind="` + kindOf(c.kind) + `"}`); got != 0 {
				t.Errorf("the metric is %v", got)
			}
			s.Must(s.Reinstall(t.Context()))
			took := s.healed(good)
			t.Logf("healed after %s", took)
			if took > healing {
				t.Errorf("healed after %s", took)
			}
			s.Eventually(func() error {
				if got := r.mustMetric(`fairlead_ca_bundle_present{target="` + c.names[0] + `",target_kind="` + kindOf(c.kind) + `"}`); got != 1 {
					return fmt.Errorf("the metric is %v", got)
				}
				body, err := r.Probe(t.Context(), "/readyz")
				if err == nil && strings.Contains(body, "degraded") {
					err = fmt.Errorf("/readyz: %s", body)
				}
				return err
			})
			namespace := s.NewNamespace()
			s.Eventually(func() error {
				_, err := s.Dynamic.Resource(oldOnes).Namespace(namespace).Create(t.Context(), old("one"), metav1.CreateOptions{})
				return err
			})
			s.reconciled(namespace, "one")
		})
	}
}

func kindOf(kind string) string {
	switch kind {
	case "crd":
		return "CustomResourceDefinition"
	case "validatingwebhookconfiguration":
		return "ValidatingWebhookConfiguration"
	}
	return "MutatingWebhookConfiguration"
}

// Another writer takes the bundle away as soon as it is there. Each write of a CRD has the API server
// convert all stored objects, so the two replicas give in ever longer, and heal it when the other has ended.
func TestAFightOverACABundleIsBounded(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r, other := s.start(), s.start()
	for _, one := range []*replica{r, other} {
		one.reaches("ca-published", "done")
	}
	good := s.bundle(framework.Definitions[2])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := s.Dynamic.Resource(crds).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + framework.Definitions[2]})
	s.Must(err)
	defer stream.Stop()
	var taken atomic.Int32
	rival := make(chan error, 1)
	go func() {
		rival <- func() error {
			for event := range stream.ResultChan() {
				object, ok := event.Object.(*unstructured.Unstructured)
				if ctx.Err() != nil {
					return ctx.Err() // the watch ends with an error of its own then
				}
				if !ok {
					return fmt.Errorf("the watch told %s: %v", event.Type, event.Object)
				}
				if bundle, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle"); bundle == "" {
					continue
				}
				_, err := s.Dynamic.Resource(crds).Patch(ctx, framework.Definitions[2], types.MergePatchType,
					[]byte(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":null}}}}}`), metav1.PatchOptions{FieldManager: "rival"})
				if err != nil {
					return err
				}
				taken.Add(1)
			}
			return nil
		}()
	}()
	select {
	case err := <-rival:
		t.Fatalf("the other writer ended: %v", err)
	case <-time.After(45 * time.Second):
	}
	written := taken.Load() - 1
	r.degraded(framework.Definitions[2], "in a row, last by") // while the other writer goes on: once it has ended, the bundle is soon healed
	cancel()
	if err := <-rival; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	t.Logf("written %d times in 45 s", written)
	if written < 1 || written > 5 {
		t.Errorf("written %d times in 45 s, want at once, after 20 s, and no more than one more each by the two replicas", written)
	}
	t.Logf("healed %s after the other writer had ended", s.healed(good))
}

// The webhooks' own account may watch and heal the bundle; the reconcilers' need not.
func TestSplitALostCABundleIsHealedByTheWebhooks(t *testing.T) {
	t.Parallel()
	a := newSuite(t).split()
	webhooks := a.webhook()
	webhooks.reaches("ca-published", "done")
	good := a.bundle(framework.Definitions[0])
	a.wipe(framework.Definitions[0])
	took := a.healed(good)
	t.Logf("healed after %s", took)
	if took > healing {
		t.Errorf("healed after %s", took)
	}
	webhooks.permitted()
}
