package storetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// Version of the S3 server that tests use.
const versitygw = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// Server is a real S3 server on a free loopback port, which ends with the test.
type Server struct {
	Endpoint string // http://127.0.0.1:port
	Bucket   string
	Folder   string // where the bucket's objects are plain files
	Log      string // a file with a line a request
}

// Keys and region of the server.
const (
	AccessKeyID     = "korvet"
	SecretAccessKey = "korvet-secret"
	Region          = "us-east-1"
)

// Keys of an account that may list and read the bucket, and nothing else.
const (
	ReaderKeyID  = "reader"
	ReaderSecret = "reader-secret"
)

// Keys of an account that may do all with the bucket, as an engine has that deletes rows and rewrites files.
const (
	WriterKeyID  = "writer"
	WriterSecret = "writer-secret"
)

// Options are how a store reaches the server, or a proxy before it at an endpoint; "" is the server itself.
func (s *Server) Options(endpoint string) store.S3 {
	if endpoint == "" {
		endpoint = s.Endpoint
	}
	return store.S3{Region: Region, Endpoint: endpoint, PathStyle: true, AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey}
}

// Location of the bucket.
func (s *Server) Location() string { return "s3://" + s.Bucket }

// Start starts a server with an empty bucket.
func Start(t testing.TB) *Server {
	t.Helper()
	binary, err := install()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &Server{Bucket: "lake", Folder: filepath.Join(dir, "data", "lake"), Log: filepath.Join(dir, "log")}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeAccounts(filepath.Join(dir, "accounts")); err != nil {
		t.Fatal(err)
	}
	for range 5 { // another process may take the port that was free
		if err = s.start(t, binary, filepath.Join(dir, "data")); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// install builds the server once and keeps it: two minutes, then nothing.
var install = sync.OnceValues(func() (string, error) {
	if binary := os.Getenv("KORVET_TEST_S3_SERVER"); binary != "" {
		return binary, nil
	}
	cache := os.Getenv("KORVET_TEST_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find cache folder: %w", err)
		}
		cache = filepath.Join(user, "korvet-test")
	}
	dir := filepath.Join(cache, "s3-"+versitygw[strings.LastIndexByte(versitygw, '@')+1:])
	binary := filepath.Join(dir, "versitygw")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create cache folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", fmt.Errorf("open lock: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // packages are tested side by side
		return "", fmt.Errorf("lock cache folder: %w", err)
	}
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	cmd := exec.Command("go", "install", versitygw)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("install S3 server: %w\n%s", err, out)
	}
	return binary, nil
})

func (s *Server) start(t testing.TB, binary, data string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	_ = l.Close()
	log, err := os.Create(s.Log)
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, "--port", address, "--access", AccessKeyID, "--secret", SecretAccessKey, "--keep-alive", "--iam-dir", filepath.Join(filepath.Dir(data), "accounts"), "posix", data)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, dieWithParent()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start S3 server: %w", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(done)
	}()
	stop := func() {
		_ = cmd.Process.Kill()
		<-done
		_ = log.Close()
	}
	s.Endpoint = "http://" + address
	if err := s.makeBucket(done); err != nil {
		stop()
		said, _ := os.ReadFile(s.Log)
		return fmt.Errorf("%w\n%s", err, said)
	}
	t.Cleanup(stop)
	return nil
}

// makeBucket waits for the server with its first request.
func (s *Server) makeBucket(dead <-chan struct{}) error {
	c := s3.New(s3.Options{
		BaseEndpoint: &s.Endpoint, Region: Region, UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider(AccessKeyID, SecretAccessKey, ""),
		RetryMaxAttempts: 1,
	})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		_, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(s.Bucket)})
		if err == nil {
			return s.let(ctx, c)
		}
		select {
		case <-dead:
			return errors.New("the S3 server ended")
		case <-ctx.Done():
			return fmt.Errorf("wait for the S3 server: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// writeAccounts writes the accounts beside that of AccessKeyID, as the server keeps them.
func writeAccounts(dir string) error {
	var accounts []string
	for _, keys := range [][2]string{{ReaderKeyID, ReaderSecret}, {WriterKeyID, WriterSecret}} {
		accounts = append(accounts, fmt.Sprintf(`%q:{"access":%[1]q,"secret":%[2]q,"role":"user"}`, keys[0], keys[1]))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create folder of accounts: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "users.json"), fmt.Appendf(nil, `{"accessAccounts":{%s}}`, strings.Join(accounts, ",")), 0o600); err != nil {
		return fmt.Errorf("write accounts: %w", err)
	}
	return nil
}

// let has the reader's account read the bucket, and the writer's do all.
func (s *Server) let(ctx context.Context, c *s3.Client) error {
	of := func(account, actions string) string {
		return fmt.Sprintf(`{"Effect":"Allow","Principal":[%q],"Action":[%s],"Resource":["arn:aws:s3:::%s","arn:aws:s3:::%[3]s/*"]}`, account, actions, s.Bucket)
	}
	policy := fmt.Sprintf(`{"Statement":[%s,%s]}`, of(ReaderKeyID, `"s3:GetObject","s3:ListBucket"`), of(WriterKeyID, `"s3:*"`))
	if _, err := c.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &s.Bucket, Policy: &policy}); err != nil {
		return fmt.Errorf("let accounts use the bucket: %w", err)
	}
	return nil
}
