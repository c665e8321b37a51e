// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// writes are what the operator wrote in the namespace, or tried to, from the API server's audit log,
// as "<verb> <resource>/<subresource> <name> <status code>".
func (s *suite) writes() []string {
	s.Helper()
	file, err := os.Open(s.AuditLog())
	s.Must(err)
	defer func() { _ = file.Close() }()
	var list []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string
			ObjectRef struct{ Namespace, Resource, Subresource, Name string }

			ResponseStatus struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.ObjectRef.Namespace != s.Namespace {
			continue
		}
		ref := event.ObjectRef
		list = append(list, fmt.Sprintf("%s %s/%s %s %d", event.Verb, ref.Resource, ref.Subresource, ref.Name, event.ResponseStatus.Code))
	}
	s.Must(lines.Err())
	return list
}

// reconciled waits until a replica has finished at least so many reconciliations and has nothing
// left to do, and returns how many there were.
func (s *suite) reconciled(replica *framework.Replica, token string, atLeast int) int {
	s.Helper()
	var done int
	s.Eventually(func() error {
		m := s.metrics(replica, token)
		done = int(m.Sum("controller_runtime_reconcile_total", `controller="externalservice"`))
		waiting := m.Sum("workqueue_depth", `name="externalservice"`)
		working := m.Sum("controller_runtime_active_workers", `controller="externalservice"`)
		if done < atLeast || waiting > 0 || working > 0 {
			return fmt.Errorf("%s: %d of %d reconciliations, %v waiting, %v at work", replica.ID, done, atLeast, waiting, working)
		}
		return nil
	})
	return done
}

// rich is an ExternalService at v1 with much in it.
const rich = `{service: {labels: {team: payments}}, ports: [{name: sql, port: 5432, targetPort: 6000, appProtocol: kubernetes.io/postgres}],
  endpoints: [{name: east, zone: eu-east, addresses: [192.0.2.10, 192.0.2.11]}, {name: west, zone: eu-west, addresses: [192.0.2.12], state: Drained, ports: [{name: sql, port: 6432}]}]}`

// The replicas are restarted here, which other tests would notice.
func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	s := newSuite(t)
	token := s.metricsToken()
	manifests := map[string]string{
		"plain":    externalServices.object("v1", "plain", database),
		"rich":     externalServices.object("v1", "rich", rich),
		"headless": externalServices.object("v1", "headless", `{service: {clusterIP: None}, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1, "2001:db8::1"]}]}`),
		"orphan":   externalServices.object("v1", "orphan", `{deletionPolicy: Orphan, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`),
		"old":      externalServices.object("v1alpha1", "old", `{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [192.0.2.1]}], probe: {tcpSocket: {port: 5432}}}`),
		"named":    externalServices.object("v1", "named", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: db.example.com}}]}`),
	}
	for name, manifest := range manifests {
		s.apply(manifest)
		if name != "named" {
			s.settled(name, "True", "Published")
		}
	}
	s.settled("named", "False", "NoAddresses")
	leader := s.Leader()
	before := s.reconciled(leader, token, len(manifests))
	written := s.writes()
	if len(written) < 3*len(manifests)-1 {
		t.Fatalf("the audit log lacks writes: %q", written)
	}

	// Events that the operator sees and has nothing to do for.
	for round := range 3 {
		touch := fmt.Sprintf("touched=%d", round)
		s.run("annotate", "--overwrite", "extsvc", "--all", touch)
		s.run("annotate", "--overwrite", "services", "--all", touch)
		s.run("label", "--overwrite", "services", "--all", touch)
		s.run("annotate", "--overwrite", "endpointslices", "--all", touch)
		for _, manifest := range manifests {
			s.apply(manifest)
		}
	}
	before = s.reconciled(leader, token, before+3*len(manifests))
	s.nothingWrittenSince(written, "touching everything")

	// Two restarts in turn: each time another process reads all of it again.
	for range 2 {
		stopped := s.Leader()
		stopped.Stop()
		s.Eventually(func() error {
			if s.Leader() == stopped {
				return fmt.Errorf("%s still holds the lease", stopped.ID)
			}
			return nil
		})
		s.Must(stopped.Start(t.Context()))
		s.reconciled(s.Leader(), token, s.count())
		s.nothingWrittenSince(written, "a restart")
	}
	s.Must(s.Reachable(t.Context()))
	t.Logf("%d reconciliations before the restarts, %d writes, all of them to make what was not there", before, len(written))
}

// count is how many ExternalServices there are in the cluster.
func (s *suite) count() int {
	s.Helper()
	return len(strings.Fields(s.run("get", "extsvc", "-A", "-o", "name")))
}

func (s *suite) nothingWrittenSince(written []string, what string) {
	s.Helper()
	if after := s.writes(); len(after) > len(written) {
		s.Errorf("after %s the operator wrote %q", what, after[len(written):])
	}
}

// Conversions are counted where the API server counts them, for the kind as a whole: no other test
// may be at work.
func TestReconcilingCausesNoConversions(t *testing.T) {
	s := newSuite(t)
	// Each version has a watch cache, so every write of an object costs one conversion for the
	// reader at v1alpha1, regardless of who writes. First what a write costs without any reconciler.
	// A reader follows a write a moment late, so what counts is the number that has come to rest.
	rest := func(k kind, wanted int) int {
		s.Helper()
		toHub, toSpoke := s.resting(k, wanted)
		return toHub + toSpoke
	}
	create := func(manifest string) {
		s.Helper()
		object := s.Objects(manifest)[0]
		object.SetNamespace(s.Namespace)
		s.Must(s.Client.Create(t.Context(), object))
	}
	const objects = 10
	before := rest(chaosPods, 0)
	for i := range objects {
		create(chaosPods.object("v1", fmt.Sprintf("c-%d", i), `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`))
	}
	for i := range objects {
		name := fmt.Sprintf("c-%d", i)
		s.Eventually(func() error {
			var c chaosv1.ChaosPod
			if err := s.Get(name, &c); err != nil {
				return err
			}
			if c.Status.ObservedGeneration != c.Generation {
				return fmt.Errorf("%s is not reconciled yet", name)
			}
			return nil
		})
	}
	rest(chaosPods, before+objects+s.wrote("update chaospods/status "))
	chaos := s.wrote("update chaospods/status ")
	perWrite := rest(chaosPods, before+objects+chaos) - before - chaos

	before = rest(externalServices, 0)
	for i := range objects {
		create(externalServices.object("v1", fmt.Sprintf("e-%d", i), database))
	}
	for i := range objects {
		s.settled(fmt.Sprintf("e-%d", i), "True", "Published")
	}
	rest(externalServices, before+objects+s.ownWrites())
	// Changes that the operator answers.
	for i := range objects {
		s.Must(s.Client.Delete(t.Context(), s.service(fmt.Sprintf("e-%d", i))))
	}
	for i := range objects {
		name := fmt.Sprintf("e-%d", i)
		s.Eventually(func() error {
			var service corev1.Service
			if err := s.Get(name, &service); err != nil {
				return err
			}
			if es := s.externalService(name); es.Status.ServiceRef.UID != service.UID {
				return fmt.Errorf("%s: the status names Service %s, and it is %s", name, es.Status.ServiceRef.UID, service.UID)
			}
			return nil
		})
	}
	got := rest(externalServices, before+objects+s.ownWrites()) - before
	again := s.ownWrites()
	t.Logf("%d creates of ChaosPods: %d conversions beside those of %d writes of the operator; %d creates of ExternalServices and %d writes of the operator: %d conversions",
		objects, perWrite, chaos, objects, again, got)
	if perWrite != objects {
		t.Errorf("a write at v1 should cost one conversion: %d writes took %d", objects, perWrite)
	}
	if got != objects+again {
		t.Errorf("%d creates and %d writes of the operator took %d conversions: reconciling has some of its own", objects, again, got)
	}
}

// ownWrites are how often the operator changed an ExternalService: its finalizers or its status.
func (s *suite) ownWrites() int {
	s.Helper()
	return s.wrote("patch externalservices/")
}

// wrote counts the writes that succeeded, by how they begin.
func (s *suite) wrote(prefix string) int {
	s.Helper()
	n := 0
	for _, write := range s.writes() {
		if strings.HasPrefix(write, prefix) && strings.HasSuffix(write, " 200") {
			n++
		}
	}
	return n
}
