// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAChangeRightAfterTheCreationOfAWorkloadIsNotLost creates workloads under a policy that is there, and changes the ConfigMap of each
// up to 1.5 s later.
func TestAChangeRightAfterTheCreationOfAWorkloadIsNotLost(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.newWorkloads(30, func() {})
}

// newWorkloads expects one restart of each workload with a pod that was created before the change, and none of others.
func (s *suite) newWorkloads(n int, meanwhile func()) {
	s.Helper()
	const latest = 1500 * time.Millisecond
	name := func(i int) string { return fmt.Sprintf("web-%d", i) }
	takes := func(configMap string) string {
		return fmt.Sprintf("{containers: [{name: main, image: none, envFrom: [{configMapRef: {name: %s}}]}]}", configMap)
	}
	for i := range n {
		s.configMap(name(i), "color", "blue")
	}
	s.configMap("old", "color", "blue")
	s.run(deployment, "old", takes("old"))
	s.policy("p", "{targets: [{selector: {matchExpressions: [{key: app, operator: Exists}]}}], "+onConfig+", historyLimit: 50}")
	s.watching("p", 1)
	created := s.firstPods()
	changed := make([]string, n)
	var changes sync.WaitGroup
	for i := range n {
		changes.Add(1)
		s.workload(deployment, name(i), takes(name(i)))
		time.AfterFunc(latest*time.Duration(i)/time.Duration(n), func() {
			defer changes.Done()
			object := s.Object(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {color: red}}", name(i)))
			if err := s.Client.Update(s.Context(), object); err != nil {
				s.Error(err)
			}
			changed[i] = object.GetResourceVersion()
		})
	}
	meanwhile()
	changes.Wait()
	for i := range n {
		s.available(deployment, name(i))
	}
	times, total := make([]int, n), 0
	for i := range n {
		order, err := resourceversion.CompareResourceVersion(created(name(i)), changed[i])
		s.Must(err)
		if order < 0 {
			times[i] = 1
			total++
		}
	}
	s.Logf("%d of %d pods were created before the change", total, n)
	s.Eventually(func() error {
		for i := range n {
			if got := s.rollouts(deployment, name(i)); got < 1+times[i] {
				return fmt.Errorf("%s was not restarted", name(i))
			}
		}
		return nil
	})
	s.watching("p", n+1)
	s.Never(func() error {
		for i := range n {
			if got := s.rollouts(deployment, name(i)); got != 1+times[i] {
				return fmt.Errorf("%s had %d templates, want %d", name(i), got, 1+times[i])
			}
		}
		if got := s.rollouts(deployment, "old"); got != 1 {
			return fmt.Errorf("old had %d templates, want 1", got)
		}
		return nil
	})
}

// firstPods returns at which resourceVersion the first pod of each app was created from now on.
func (s *suite) firstPods() func(app string) string {
	s.Helper()
	var list corev1.PodList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace)))
	changes, err := s.Client.Watch(s.Context(), &corev1.PodList{}, client.InNamespace(s.Namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	s.Must(err)
	var mu sync.Mutex
	first := map[string]string{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change := range changes.ResultChan() {
			if pod, ok := change.Object.(*corev1.Pod); ok && change.Type == watch.Added {
				mu.Lock()
				if first[pod.Labels["app"]] == "" {
					first[pod.Labels["app"]] = pod.ResourceVersion
				}
				mu.Unlock()
			}
		}
	}()
	s.Cleanup(func() { changes.Stop(); <-done })
	return func(app string) string {
		mu.Lock()
		defer mu.Unlock()
		return first[app]
	}
}
