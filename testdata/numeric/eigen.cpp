/*
 * Linear algebra by the library Eigen: dense products and decompositions,
 * eigenvalues, singular values, small matrices of fixed size, arrays, sparse
 * systems.
 */
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace Eigen;

static double random_unit() {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
}

static uint64_t sum = 0;

/* One wrong bit shows. */
template <typename T> static void add(const T &matrix) {
    for (Index i = 0; i < matrix.size(); i++) {
        double value = static_cast<double>(matrix.derived().coeff(i % matrix.rows(), i / matrix.rows()));
        uint64_t word;
        memcpy(&word, &value, 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u, sum ^= sum >> 32;
    }
}

static MatrixXd random_matrix(Index rows, Index columns) {
    return MatrixXd::NullaryExpr(rows, columns, [] { return random_unit() - 0.5; });
}

__attribute__((noinline)) void dense(Index n) {
    MatrixXd a = random_matrix(n, n), b = random_matrix(n, n), spd = a * a.transpose() + MatrixXd::Identity(n, n);
    add(MatrixXd(a.triangularView<Lower>() * b + 0.5 * a.transpose() * b));
    add(VectorXd(spd.llt().solve(b.col(0))));
    add(VectorXd(a.partialPivLu().solve(b.col(1))));
    add(VectorXd(a.colPivHouseholderQr().solve(b.col(2))));
    add(VectorXd(SelfAdjointEigenSolver<MatrixXd>(spd).eigenvalues()));
}

__attribute__((noinline)) void singular_values(Index n) {
    MatrixXf a = random_matrix(n, n / 2).cast<float>();
    add(VectorXf(JacobiSVD<MatrixXf>(a, ComputeThinU | ComputeThinV).singularValues()));
}

/* Points in space through a chain of transformations. */
__attribute__((noinline)) void transformations(int times) {
    Affine3d place = Affine3d::Identity();
    Quaterniond turn(AngleAxisd(0.01, Vector3d(1, 2, 3).normalized()));
    Matrix4f product = Matrix4f::Identity();
    Vector3d point(1, 2, 3), total = Vector3d::Zero();
    for (int i = 0; i < times; i++) {
        place = turn * Translation3d(0.01 * i, -0.02, 0.005) * place;
        total += place * point + point.cross(total) * 1e-3;
        product = (product * place.matrix().cast<float>()).eval() * 0.5f;
        if (i % 16 == 0) product = place.inverse().matrix().cast<float>();
    }
    add(total);
    add(product);
}

__attribute__((noinline)) void arrays(Index n) {
    ArrayXd x = ArrayXd::LinSpaced(n, -2, 2), y = x;
    for (int times = 0; times < 20; times++) {
        y = (x * y + 1).abs().sqrt() - (0.3 * x).square() / (1 + y.square());
        x = (y > 0.5).select(x.exp(), x.min(y)) * 0.25;
    }
    ArrayXf z = (x.cast<float>() * 3).sin() + y.cast<float>().cos();
    add(x);
    add(z);
}

__attribute__((noinline)) void sparse(int side) {
    std::vector<Triplet<double>> entries;
    int n = side * side;
    for (int i = 0; i < n; i++) {
        entries.emplace_back(i, i, 4.1);
        if (i >= side) entries.emplace_back(i, i - side, -1), entries.emplace_back(i - side, i, -1);
        if (i % side > 0) entries.emplace_back(i, i - 1, -1), entries.emplace_back(i - 1, i, -1);
    }
    SparseMatrix<double> matrix(n, n);
    matrix.setFromTriplets(entries.begin(), entries.end());
    VectorXd right = random_matrix(n, 1);
    ConjugateGradient<SparseMatrix<double>, Lower | Upper> iterative(matrix);
    SimplicialLDLT<SparseMatrix<double>> direct(matrix);
    add(VectorXd(iterative.solve(right)));
    add(VectorXd(direct.solve(right)));
}

int main() {
    /* Blocks depend on the caches' sizes, which Eigen asks the processor for. */
    setCpuCacheSizes(32768, 1 << 20, 8 << 20);
    for (int round = 0; round < 3; round++) dense(72);
    singular_values(40);
    transformations(20000);
    for (int round = 0; round < 10; round++) arrays(1000);
    sparse(24);
    printf("%016llx\n", static_cast<unsigned long long>(sum));
}
