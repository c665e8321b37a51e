// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// many is how many objects of each kind a benchmark reads.
const many = 10_000

// managed are as many bytes of managed fields as objects of these kinds have.
func managed() []metav1.ManagedFieldsEntry {
	fields := metav1.NewFieldsV1(`{"f:status":{"f:conditions":{` + strings.Repeat(`"k:{\"type\":\"Ready\"}":{".":{},"f:reason":{},"f:status":{}},`, 12) + `".":{}}}}`)
	return []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: fields}, {Manager: "fairlead", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: fields, Subresource: "status"}}
}

// record is an entry of a history that ended at a time.
func record(at metav1.Time) common.Record {
	began := metav1.NewTime(at.Add(-time.Minute))
	return common.Record{ID: at.Format("20060102-150405"), Result: "Succeeded", Reason: "Done", Message: "It took 60 s from " + at.String(), StartTime: &began, CompletionTime: &at}
}

// full returns an object of a kind as an API server has it; each refers to those of the same number.
func full(kind string, i int) client.Object {
	name := fmt.Sprintf("a-%05d", i)
	metadata := named(name)
	metadata.ManagedFields, metadata.UID, metadata.ResourceVersion = managed(), types.UID(fmt.Sprintf("2d2a8dc0-7f0c-4d5d-9e0b-%012x", i)), strconv.Itoa(1_000_000+i)
	metadata.Labels = map[string]string{"app.kubernetes.io/part-of": "shop", "team": "payments"}
	conditions := []metav1.Condition{condition("Ready", "True", "Watching", "1 workload is watched by 1 trigger"), condition("Waiting", "False", "NothingPending", ""),
		condition("Progressing", "False", "Idle", ""), condition("Suspended", "False", "NotSuspended", "")}
	since := metav1.NewTime(noon.Add(time.Duration(i) * time.Second)) // what objects have in common could be kept once
	for n := range conditions {
		conditions[n].LastTransitionTime = since
	}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "registry.example.com/shop/a:1.2.3",
		Env: []corev1.EnvVar{{Name: "DATABASE", Value: "postgres://a.shop.svc:5432"}, {Name: "LEVEL", Value: "info"}}}}}}
	three := int32(3)
	switch kind {
	case ExternalService:
		o := database()
		o.ObjectMeta = metadata
		o.Status.Conditions = append(o.Status.Conditions, conditions[1:]...)
		for n := range o.Status.Endpoints[0].Addresses {
			ip := fmt.Sprintf("10.%d.%d.%d", n, i/250, i%250)
			a := &o.Status.Endpoints[0].Addresses[n]
			a.IP, a.LastTransitionTime, o.Spec.Endpoints[0].Addresses[n] = ip, &since, networkingv1.IPAddress(ip)
		}
		o.Status.History = []networkingv1.ChangeRecord{{Type: "Failover", Record: record(since)}}
		return o
	case RebootPolicy:
		o := payments("NothingPending")
		o.ObjectMeta, o.Status.Conditions, o.Status.Targets[0].Pending = metadata, conditions, nil
		o.Status.History = []autorebootv1.RestartRecord{{Record: record(since), Triggers: []string{"config"}, Target: common.WorkloadReference{Kind: "Deployment", Name: name}}}
		o.Spec.Targets[0].Name, o.Status.Targets[0].Name, o.Spec.Gates[0].Condition.Name = name, name, name
		return o
	case ChaosPod:
		o := killer(name, name)
		o.ObjectMeta, o.Status.Conditions, o.Status.ObservedGeneration = metadata, conditions, 1
		o.Status.History = []chaosv1.Run{{Record: record(since)}}
		return o
	case "Deployment":
		o := deployment(name, 3)
		o.ObjectMeta, o.Spec.Template = metadata, template
		o.Annotations = map[string]string{common.DependsOnAnnotation: "externalservice/" + name}
		return o
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{Replicas: &three, Template: template}, Status: appsv1.StatefulSetStatus{AvailableReplicas: 3, ObservedGeneration: 1}}
	}
	return &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Template: template}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, NumberAvailable: 3, ObservedGeneration: 1}}
}

// pagesOf are the lists that an API server sends of a kind, by their continue token: in Protobuf of its own kinds, and in JSON of others.
func pagesOf(b testing.TB, k kind, many int, to map[string][]byte) {
	if k.ofCluster || k.isOptional() { // a cluster has few of them
		to[k.resource] = []byte(`{"items": []}`)
		return
	}
	for from := 0; from < many; from += pageSize {
		next := ""
		if from+pageSize < many {
			next = strconv.Itoa(from + pageSize)
		}
		var items []runtime.Object
		for i := range pageSize {
			items = append(items, full(k.Kind, from+i))
		}
		var page bytes.Buffer
		list := k.list()
		list.SetContinue(next)
		list.GetObjectKind().SetGroupVersionKind(k.group.WithKind(k.Kind + "List"))
		if err := meta.SetList(list, items); err != nil {
			b.Fatal(err)
		}
		if k.isOwned {
			for _, item := range items {
				item.GetObjectKind().SetGroupVersionKind(k.group.WithKind(k.Kind))
			}
			if err := json.NewEncoder(&page).Encode(list); err != nil {
				b.Fatal(err)
			}
		} else if err := protobuf.NewSerializer(clientscheme.Scheme, clientscheme.Scheme).Encode(list, &page); err != nil {
			b.Fatal(err)
		}
		token := ""
		if from > 0 {
			token = strconv.Itoa(from)
		}
		to[k.resource+token] = page.Bytes()
	}
}

// large is an API server with many objects of each kind in a namespace.
func large(b testing.TB, many int) *httptest.Server {
	pages := map[string][]byte{}
	for _, k := range kinds {
		pagesOf(b, k, many, pages)
	}
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		k := kinds[0]
		for _, one := range kinds {
			if parts[len(parts)-1] == one.resource || parts[len(parts)-2] == one.resource {
				k = one
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" { // nothing changes
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		if parts[len(parts)-1] != k.resource {
			o := full(k.Kind, 7)
			o.GetObjectKind().SetGroupVersionKind(k.group.WithKind(k.Kind))
			_ = json.NewEncoder(w).Encode(o)
			return
		}
		if !k.isOwned && !k.isOptional() {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		}
		_, _ = w.Write(pages[k.resource+r.URL.Query().Get("continue")])
	}))
	b.Cleanup(served.Close)
	return served
}

// BenchmarkManyObjects reads a namespace with 10,000 objects of each kind, from a server that costs next to nothing. The metric is
// the processor time, which other work on the machine does not change.
func BenchmarkManyObjects(b *testing.B) {
	c, err := NewClient(&rest.Config{Host: large(b, many).URL})
	if err != nil {
		b.Fatal(err)
	}
	for name, run := range map[string]func() error{
		"ui": func() error {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			followed, err := Follow(ctx, c, "shop", func() {})
			if err == nil {
				New(followed.Snapshot()).Status(labels.Everything())
			}
			return err
		},
		"status": func() error {
			all, err := Read(b.Context(), c, "shop")
			if err != nil || len(all.Objects) != many*(len(kinds)-2) {
				return fmt.Errorf("%v, %w", all, err)
			}
			return New(all).Status(labels.Everything()).WriteText(io.Discard, false, true)
		},
		"why ExternalService": func() error { return why(b, c, ExternalService) },
		"why RebootPolicy":    func() error { return why(b, c, RebootPolicy) },
		"why Deployment":      func() error { return why(b, c, "Deployment") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := spent(b)
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((spent(b)-before).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

func why(b *testing.B, c client.Reader, kind string) error {
	graph, object, err := ReadWith(b.Context(), c, Key{kind, "shop", "a-00007"})
	if err != nil {
		return err
	}
	return graph.Explain(object).WriteText(io.Discard, noon.Time)
}

// spent is the processor time of this process.
func spent(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
