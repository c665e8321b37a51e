// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// migrate runs a migrator over three widgets stored at an old version, for a time of the bubble's clock, and
// returns how often an object was patched.
func migrate(t *testing.T, span time.Duration, definitions *apiextensionsfake.Clientset, onPatch func()) (m *Migrator, patched int) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var widgets []runtime.Object
	for _, name := range []string{"a", "b", "c"} {
		widget := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: "7"}}
		widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
		widgets = append(widgets, widget)
	}
	objects := metadatafake.NewSimpleMetadataClient(scheme, widgets...)
	objects.PrependReactor("patch", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		patched++
		if onPatch != nil {
			onPatch()
		}
		return false, nil, nil
	})
	m, err := New(Options{
		Definitions: definitions.ApiextensionsV1().CustomResourceDefinitions(), Objects: objects,
		Names: []string{"widgets.example.com"}, Rate: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return m, patched
}

func newDefinitions() *apiextensionsfake.Clientset {
	return apiextensionsfake.NewClientset(definition([]string{"v1alpha1", "v1"}, "v1alpha1 served", "v1 served storage"))
}

// A status that may not be written, such as under a policy of the cluster, is tried again, at last in every interval,
// and no object is rewritten for it a second time.
func TestADefinitionThatCannotBePrunedIsTriedAgainInEveryIntervalAtTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		definitions, refused := newDefinitions(), 0
		definitions.PrependReactor("patch", "customresourcedefinitions", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetSubresource() != "status" {
				return false, nil, nil
			}
			refused++
			return true, nil, apierrors.NewForbidden(apiextensionsv1.Resource("customresourcedefinitions"), "widgets.example.com", errors.New("a policy"))
		})
		m, patched := migrate(t, time.Hour, definitions, nil)
		if refused < 50 || refused > 66 {
			t.Errorf("tried %d times in an hour, want once in a minute", refused)
		}
		if patched != 3 {
			t.Errorf("3 objects were rewritten %d times", patched)
		}
		if said := m.Status(); !strings.Contains(said, "storedVersions") {
			t.Errorf("it says %q", said)
		}
	})
}

func TestADefinitionThatCanBePrunedAgainIsCompleteWithoutAnotherPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		definitions, refusals := newDefinitions(), 3
		definitions.PrependReactor("patch", "customresourcedefinitions", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if refusals--; action.GetSubresource() == "status" && refusals >= 0 {
				return true, nil, errors.New("the API server is away")
			}
			return false, nil, nil
		})
		m, patched := migrate(t, time.Hour, definitions, nil)
		if said := m.Status(); patched != 3 || !strings.Contains(said, "complete") {
			t.Errorf("%d objects rewritten, it says %q", patched, said)
		}
	})
}

func TestAPanicAtAnObjectIsAFailureOfThatObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		m, _ := migrate(t, 10*time.Minute, newDefinitions(), func() {
			if calls++; calls == 1 {
				panic("a defect") //nolint:forbidigo // what it tests
			}
		})
		if said := m.Status(); !strings.Contains(said, "complete") {
			t.Errorf("it says %q after %d patches", said, calls)
		}
	})
}

// A pass pauses at the object that fails in a row, which is come to again when it goes on.
func TestAnObjectAtWhichAPassPausesIsCountedOnce(t *testing.T) {
	m, err := New(Options{Definitions: newDefinitions().ApiextensionsV1().CustomResourceDefinitions(), Objects: metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()), Names: []string{"widgets.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{Migrator: m, migration: &migration{}}
	for range 3 {
		for i := range maxFailures {
			if paused := p.fail("shop/"+string(rune('a'+i)), errors.New("away")) != nil; paused != (i == maxFailures-1) {
				t.Fatalf("object %d: paused %v", i, paused)
			}
		}
		p.inRow = 0
	}
	if len(p.failed) != maxFailures {
		t.Errorf("%d objects are noted: %q", len(p.failed), p.failed)
	}
}
